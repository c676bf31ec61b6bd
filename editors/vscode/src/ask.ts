/** Asking from the editor: where the person looks goes along, and what they chose to attach. */
import * as vscode from "vscode";
import { AgentError, explain, type Client } from "./client";
import type { Attachment, Focus, Range, SubmitParams, SubmitResult } from "./protocol";
import type { Session } from "./session";

export interface Attached extends Attachment {
  label: string;
}

const toRange = (r: vscode.Range): Range => ({
  start: { line: r.start.line, character: r.start.character }, end: { line: r.end.line, character: r.end.character },
});

/** Where the person is looking: the file of the active editor, and what else is in view. */
export function focus(): Focus | undefined {
  const files = vscode.window.visibleTextEditors.filter((e) => e.document.uri.scheme === "file");
  const active = vscode.window.activeTextEditor;
  const at = active && files.includes(active) ? active : files[0];
  if (!at) {
    return undefined;
  }
  const visible = [...new Set(files.map((e) => e.document.uri.toString()))];
  return { uri: at.document.uri.toString(), range: toRange(at.selection), visible };
}

/** The selection as something to send along. */
export function selection(editor = vscode.window.activeTextEditor): Attached | undefined {
  if (!editor || editor.selection.isEmpty || editor.document.uri.scheme !== "file") {
    return undefined;
  }
  const { start, end } = editor.selection;
  const name = vscode.workspace.asRelativePath(editor.document.uri, false);
  const last = end.character === 0 && end.line > start.line ? end.line : end.line + 1;
  const label = last === start.line + 1 ? `${name}:${last}` : `${name}:${start.line + 1}-${last}`;
  return { uri: editor.document.uri.toString(), range: toRange(editor.selection), kind: "selection", label };
}

/** What the server should know besides the words. */
export function complete(session: Session, params: Partial<SubmitParams> & { input: string }, attached: Attached[] = []): SubmitParams {
  const attachments = [...attached.map(({ label: _, ...a }) => a), ...(params.attachments ?? [])];
  return {
    ...session.ref(), focus: focus(), clientRequestId: crypto.randomUUID(), ...params, source: "vscode",
    ...(attachments.length > 0 ? { attachments } : {}),
  };
}

export class Ask {
  constructor(private readonly client: Client, private readonly session: Session, private readonly sent: (r: SubmitResult) => void) {}

  async submit(input: string, attached: Attached[] = []): Promise<void> {
    try {
      const r = await this.client.request("agent/submit", complete(this.session, { input }, attached));
      this.sent(r);
      if (r.response && !r.response.success) {
        void vscode.window.showWarningMessage(`Agent: ${r.response.content}`);
      }
    } catch (e) {
      void vscode.window.showWarningMessage(`Agent: ${explain(e)}`);
    }
  }

  /** The prompt at the selection: one line, about the selected code or the line. The server may start meanwhile. */
  async inline(server: Promise<boolean>): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (!editor) {
      return;
    }
    const chosen = selection(editor);
    const where = chosen?.label ?? `${vscode.workspace.asRelativePath(editor.document.uri, false)}:${editor.selection.active.line + 1}`;
    const input = await vscode.window.showInputBox({ title: `Agent: ${where}`, placeHolder: "What should be done, or what do you want to know?" });
    if (input?.trim() && (await server)) {
      await this.submit(input, chosen ? [chosen] : []);
    }
  }

  /** One of the server's own code actions on the selection or on the problems there: the words are the server's. */
  async action(title: string): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (!editor) {
      return;
    }
    const problems = vscode.languages.getDiagnostics(editor.document.uri).filter((d) => d.range.intersection(editor.selection));
    const diagnostics = problems.map((d) => ({ range: toRange(d.range), severity: d.severity + 1, source: d.source, message: d.message }));
    const params = { textDocument: { uri: editor.document.uri.toString() }, range: toRange(editor.selection), context: { diagnostics, triggerKind: 1 } };
    try {
      const actions = ((await this.client.raw("textDocument/codeAction", params)) ?? []) as { title: string; command?: { command: string; arguments?: unknown[] } }[];
      const action = actions.find((a) => a.title === title);
      if (!action?.command) {
        throw new AgentError(`the server offers nothing called “${title}” here`);
      }
      this.sent((await this.client.raw("workspace/executeCommand", { command: action.command.command, arguments: action.command.arguments ?? [] })) as SubmitResult);
    } catch (e) {
      void vscode.window.showWarningMessage(`Agent: ${explain(e)}`);
    }
  }
}

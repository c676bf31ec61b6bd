/** `agent/editor`: the agent asks the language servers that run in this editor. What they know is passed on as LSP has it. */
import * as vscode from "vscode";
import type { EditorParams, Position, Range } from "./protocol";

export const EDITOR_OPS = ["definition", "references", "hover", "symbols", "diagnostics", "rename", "format", "save"] as const;
type Op = (typeof EDITOR_OPS)[number];

const ANSWER_MS = 10_000; // for one question; a provider that hangs is no answer
const TAB_SIZE_DEFAULT = 4;

const position = (p: vscode.Position): Position => ({ line: p.line, character: p.character });
const range = (r: vscode.Range): Range => ({ start: position(r.start), end: position(r.end) });
const textEdit = (e: vscode.TextEdit) => ({ range: range(e.range), newText: e.newText });

function location(l: vscode.Location | vscode.LocationLink) {
  return "targetUri" in l
    ? { uri: l.targetUri.toString(), range: range(l.targetSelectionRange ?? l.targetRange) }
    : { uri: l.uri.toString(), range: range(l.range) };
}

function symbol(s: vscode.DocumentSymbol | vscode.SymbolInformation): object {
  const kind = s.kind + 1; // LSP counts from 1
  return "location" in s && !("children" in s)
    ? { name: s.name, kind, containerName: s.containerName, location: location(s.location) }
    : {
        name: s.name, kind, detail: (s as vscode.DocumentSymbol).detail, range: range((s as vscode.DocumentSymbol).range),
        selectionRange: range((s as vscode.DocumentSymbol).selectionRange), children: (s as vscode.DocumentSymbol).children.map(symbol),
      };
}

function markdown(c: vscode.MarkdownString | vscode.MarkedString): string {
  return typeof c === "string" ? c : "language" in c ? "```" + c.language + "\n" + c.value + "\n```" : c.value;
}

function diagnostic(d: vscode.Diagnostic) {
  const code = typeof d.code === "object" ? d.code.value : d.code;
  return { range: range(d.range), severity: d.severity + 1, source: d.source, code, message: d.message };
}

const run = <T>(command: string, ...args: unknown[]) => vscode.commands.executeCommand<T | undefined>(command, ...args);

const answers: Record<Op, (uri: vscode.Uri, at: vscode.Position, p: EditorParams) => Promise<unknown>> = {
  definition: async (uri, at) => (await run<(vscode.Location | vscode.LocationLink)[]>("vscode.executeDefinitionProvider", uri, at))?.map(location),
  references: async (uri, at) => (await run<vscode.Location[]>("vscode.executeReferenceProvider", uri, at))?.map(location),
  hover: async (uri, at) => {
    const hovers = (await run<vscode.Hover[]>("vscode.executeHoverProvider", uri, at)) ?? [];
    const value = hovers.flatMap((h) => h.contents.map(markdown)).filter(Boolean).join("\n\n");
    return value ? { contents: { kind: "markdown", value } } : null;
  },
  symbols: async (uri) => (await run<(vscode.DocumentSymbol | vscode.SymbolInformation)[]>("vscode.executeDocumentSymbolProvider", uri))?.map(symbol),
  diagnostics: async (uri) => {
    const known = vscode.languages.getDiagnostics(uri).map(diagnostic);
    // No problems, or nobody who looks for any? The editor doesn't say; who knows the symbols of a file is at work on it.
    return known.length > 0 || (await run<unknown>("vscode.executeDocumentSymbolProvider", uri)) !== undefined ? known : null;
  },
  rename: async (uri, at, p) => {
    const edit = await run<vscode.WorkspaceEdit>("vscode.executeDocumentRenameProvider", uri, at, p.newName ?? "");
    return edit ? { changes: Object.fromEntries(edit.entries().map(([u, edits]) => [u.toString(), edits.map(textEdit)])) } : null;
  },
  format: async (uri) => {
    const shown = vscode.window.visibleTextEditors.find((e) => e.document.uri.toString() === uri.toString())?.options;
    const options = { tabSize: Number(shown?.tabSize ?? TAB_SIZE_DEFAULT) || TAB_SIZE_DEFAULT, insertSpaces: shown?.insertSpaces !== false };
    return (await run<vscode.TextEdit[]>("vscode.executeFormatDocumentProvider", uri, options))?.map(textEdit);
  },
  save: async (uri, _at, p) => {
    const open = vscode.workspace.textDocuments.find((d) => d.uri.toString() === uri.toString());
    const asMeant = open !== undefined && (p.version === undefined || open.version === p.version);
    return asMeant && (!open.isDirty || (await open.save()));
  },
};

/** Null: nobody here knows. */
export async function answer(p: EditorParams, token?: vscode.CancellationToken): Promise<unknown> {
  const op = answers[p.op as Op];
  if (!op) {
    return null;
  }
  const at = new vscode.Position(p.position?.line ?? 0, p.position?.character ?? 0);
  return new Promise((done) => {
    const timer = setTimeout(() => done(null), ANSWER_MS);
    const stop = token?.onCancellationRequested(() => done(null));
    op(vscode.Uri.parse(p.uri), at, p)
      .then((r) => done(r ?? null), () => done(null))
      .finally(() => {
        clearTimeout(timer);
        stop?.dispose();
      });
  });
}

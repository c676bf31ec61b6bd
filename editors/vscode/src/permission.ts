/**
 * `agent/permission`: asked in the chat view and by a notification at the same time, modal only where something may be
 * destroyed. The first answer counts; none is ever given for the person.
 */
import * as vscode from "vscode";
import type { PermissionOption, PermissionParams, PermissionResult } from "./protocol";

export interface Question {
  id: string;
  params: PermissionParams;
}

interface Open extends Question {
  /** the tree has said that the call asks; that and the question come in either order */
  asked: boolean;
  done: (r: PermissionResult) => void;
}

const DETAIL_MAX = 400; // characters of a command in a notification; the card has all

const ORDER = ["allow_once", "allow_always", "reject_once", "reject_always"];
const SHORT: Record<string, string> = { allow_once: "Allow", reject_once: "Reject" };

export class Permissions implements vscode.Disposable {
  private readonly open = new Map<string, Open>();
  private counter = 0;
  private readonly askedEmitter = new vscode.EventEmitter<Question>();
  private readonly overEmitter = new vscode.EventEmitter<string>();
  readonly onAsked = this.askedEmitter.event;
  readonly onOver = this.overEmitter.event;

  /** Those that wait, the oldest first: a view that opens now shows them. */
  waiting(): Question[] {
    return [...this.open.values()].map(({ id, params }) => ({ id, params }));
  }

  ask(params: PermissionParams, token: vscode.CancellationToken): Promise<PermissionResult> {
    return new Promise((resolve) => {
      const id = `permission-${++this.counter}`;
      const withdrawn = token.onCancellationRequested(() => this.finish(id, undefined));
      const done = (r: PermissionResult) => {
        withdrawn.dispose();
        resolve(r);
      };
      this.open.set(id, { id, params, done, asked: false });
      this.askedEmitter.fire({ id, params });
      void this.notify(id, params);
    });
  }

  /** The person's answer, from wherever it comes. */
  answer(id: string, optionId: string, reason?: string): void {
    if (this.open.get(id)?.params.options.some((o) => o.id === optionId)) {
      this.finish(id, { optionId, ...(reason ? { reason } : {}) });
    }
  }

  /** What the tree says of a call: answered by another client, or its run over, nobody waits for it any more. */
  callIs(toolCallId: string, state: string): void {
    for (const q of [...this.open.values()].filter((o) => o.params.toolCallId === toolCallId)) {
      if (state === "asking") {
        q.asked = true;
      } else if (state !== "running" || q.asked) {
        this.finish(q.id, undefined);
      }
    }
  }

  /** The server or the window ends: nobody is asked any more, and nothing is answered in the person's name. */
  withdrawAll(): void {
    for (const id of [...this.open.keys()]) {
      this.open.delete(id);
      this.overEmitter.fire(id);
    }
  }

  private finish(id: string, r: PermissionResult | undefined): void {
    const q = this.open.get(id);
    if (!q) {
      return;
    }
    this.open.delete(id);
    q.done(r ?? { optionId: "" }); // no option: nobody has answered here
    this.overEmitter.fire(id);
    if (!q.params.destructive) {
      void vscode.commands.executeCommand("notifications.hideToasts");
    }
  }

  private async notify(id: string, p: PermissionParams): Promise<void> {
    const title = p.title.length > DETAIL_MAX ? p.title.slice(0, DETAIL_MAX) + "…" : p.title;
    const options = [...p.options].sort((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind));
    const items = options.map((o) => ({ title: label(o), option: o, isCloseAffordance: p.destructive === true && o.kind === "reject_once" }));
    const asks = `Agent: ${p.tool} wants to run`;
    const chosen = p.destructive
      ? await vscode.window.showWarningMessage(asks, { modal: true, detail: `${title}\n\n${p.detail}\n\nThis may destroy something.` }, ...items)
      : await vscode.window.showWarningMessage(`${asks}: ${title}`, ...items);
    if (chosen && this.open.has(id)) {
      this.answer(id, chosen.option.id);
    } else if (chosen) {
      void vscode.window.showInformationMessage(`Agent: ${p.tool} ${title} was answered already, or its run is over.`);
    }
  }

  /** For the keyboard: the oldest question, as a list. */
  async pick(): Promise<void> {
    const q = this.waiting()[0];
    if (!q) {
      void vscode.window.showInformationMessage("Agent: nothing asks for your permission.");
      return;
    }
    const no = q.params.options.find((o) => o.kind === "reject_once");
    const items = q.params.options.map((o) => ({ label: label(o), description: o.name, option: o, because: false }));
    const because = no ? [{ label: "Reject, because…", description: "tells the agent why", option: no, because: true }] : [];
    const chosen = await vscode.window.showQuickPick([...items, ...because], { title: `${q.params.tool} wants to run`, placeHolder: q.params.title });
    if (!chosen) {
      return;
    }
    const reason = chosen.because ? await vscode.window.showInputBox({ title: "Reject, because", prompt: q.params.title }) : undefined;
    if (!chosen.because || reason !== undefined) {
      this.answer(q.id, chosen.option.id, reason);
    }
  }

  dispose(): void {
    this.withdrawAll();
    this.askedEmitter.dispose();
    this.overEmitter.dispose();
  }
}

/** What an option is called on a button: short, but with the rule that "always" saves. */
function label(o: PermissionOption): string {
  return SHORT[o.kind] ?? o.name.replace(/ = allow$/, "");
}

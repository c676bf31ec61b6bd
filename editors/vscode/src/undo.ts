/** Taking back: a turn's files, its conversation or both, shown beforehand, and again; the last reject. */
import * as vscode from "vscode";
import { explain } from "./client";
import { GLYPHS, count } from "./glyphs";
import type { CheckpointFile, RestoreParams, RestoreResult } from "./protocol";
import type { Gate, Session } from "./session";

type What = "files" | "conversation" | "both";

/** "greet.go (+4 −4)" */
const fileWords = (f: CheckpointFile) => `${f.path} (${GLYPHS.unicode.plus}${f.added} ${GLYPHS.unicode.minus}${f.removed})`;
const skippedWords = (r: RestoreResult) => r.skipped.map((f) => `${f.path} left alone: ${f.skipped ?? ""}`);
const turnsWords = (r: RestoreResult) => `the conversation from before its last ${count(r.turns ?? 0, "turn")}`;

/** What can be put back, each with what it would change: the choices of a dry run of both. Pure. */
export function choices(r: RestoreResult): { what: What; label: string; detail: string }[] {
  const files = r.restored.length > 0;
  const turns = (r.turns ?? 0) > 0;
  return [
    ...(files ? [{ what: "files" as const, label: "Files", detail: [...r.restored.map(fileWords), ...skippedWords(r)].join(", ") }] : []),
    ...(turns ? [{ what: "conversation" as const, label: "Conversation", detail: turnsWords(r) }] : []),
    ...(files && turns ? [{ what: "both" as const, label: "Files and conversation", detail: "both" }] : []),
  ];
}

/** What was put back, and what was not. Pure. */
export function restoredWords(r: RestoreResult): string {
  const words = [...r.restored.map((f) => `put back ${fileWords(f)}`), ...skippedWords(r), ...((r.turns ?? 0) > 0 ? [turnsWords(r)] : [])];
  return words.length > 0 ? words.join("; ") : "nothing to put back";
}

export class Undo {
  constructor(private readonly gate: Gate, private readonly session: Session) {}

  private async attempt(fn: () => Promise<void>): Promise<void> {
    try {
      await fn();
    } catch (e) {
      void vscode.window.showWarningMessage(`Agent: ${explain(e)}`);
    }
  }

  /** Puts the latest turn back: the person chooses what, having read what each choice would change. */
  turn(): Promise<void> {
    return this.attempt(async () => {
      const would = await this.gate.request("agent/checkpoint/restore", { ...this.session.ref(), what: "both", dryRun: true });
      const list = choices(would);
      if (list.length === 0) {
        void vscode.window.showInformationMessage(`Agent: ${restoredWords(would)}`);
        return;
      }
      const chosen = await vscode.window.showQuickPick(list, { title: "Agent: put back, as before the latest turn", placeHolder: "It can come again afterwards" });
      if (chosen) {
        await this.restore({ turnId: would.turnId, what: chosen.what });
      }
    });
  }

  private async restore(params: RestoreParams): Promise<void> {
    const r = await this.gate.request("agent/checkpoint/restore", { ...this.session.ref(), ...params });
    if (r.branchId) {
      await this.session.load({ sessionId: this.session.id, branchId: r.branchId });
    }
    const again = "Bring It Again";
    void vscode.window.showInformationMessage(`Agent: ${restoredWords(r)}`, ...(r.restoreId ? [again] : [])).then((chosen) =>
      chosen === again && r.restoreId ? this.attempt(() => this.restore({ redo: r.restoreId })) : undefined);
  }

  /** Brings the hunks of the last reject back, and with them their text. */
  reject(): Promise<void> {
    return this.attempt(async () => {
      const { results } = await this.gate.request("agent/edits/undoReject", {});
      const failed = results.filter((r) => r.outcome === "conflict");
      const detail = failed.map((r) => r.detail ?? r.outcome).join("; ");
      void vscode.window.setStatusBarMessage(`Agent: ${count(results.length - failed.length, "hunk")} brought back`, 5000);
      if (failed.length > 0) {
        void vscode.window.showWarningMessage(`Agent: ${count(failed.length, "hunk")} could not come back: ${detail}`);
      }
    });
  }
}

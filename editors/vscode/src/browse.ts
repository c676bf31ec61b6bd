/** Looking back and choosing: traces, sessions, branches, models. */
import * as vscode from "vscode";
import { explain } from "./client";
import { count } from "./glyphs";
import { comparison, trace } from "./pages";
import type { Gate, Session } from "./session";
import { when } from "./sessions";

const PAGE = "agent-page"; // read-only documents that are made on demand

export class Browse implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly pages = new Map<string, string>();
  private readonly changeEmitter = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changeEmitter.event;
  private readonly listeners = [
    vscode.workspace.registerTextDocumentContentProvider(PAGE, this),
    vscode.workspace.onDidCloseTextDocument((d) => d.uri.scheme === PAGE && this.pages.delete(d.uri.path)),
  ];

  constructor(private readonly gate: Gate, private readonly session: Session) {}

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.pages.get(uri.path) ?? "This page was made on demand and is gone: ask for it again.\n";
  }

  private async page(name: string, text: string): Promise<void> {
    const uri = vscode.Uri.from({ scheme: PAGE, path: `/${name}.md` });
    this.pages.set(uri.path, text);
    this.changeEmitter.fire(uri);
    await vscode.commands.executeCommand("markdown.showPreview", uri);
  }

  /** Text that belongs to no file: a tool's whole result. */
  text(title: string, text: string, language?: string): Promise<void> {
    return this.attempt(async () => {
      const uri = vscode.Uri.from({ scheme: PAGE, path: `/${title.replace(/[/\\]/g, "∕")}` });
      this.pages.set(uri.path, text);
      this.changeEmitter.fire(uri);
      const document = await vscode.workspace.openTextDocument(uri);
      await vscode.window.showTextDocument(language ? await vscode.languages.setTextDocumentLanguage(document, language) : document);
    });
  }

  private async attempt(fn: () => Promise<void>): Promise<void> {
    try {
      await fn();
    } catch (e) {
      void vscode.window.showWarningMessage(`Agent: ${explain(e)}`);
    }
  }

  /** The latest turn's trace, or the one named; loaded now and not before. */
  trace(turnId?: string): Promise<void> {
    return this.attempt(async () => {
      const t = await this.gate.request("agent/trace", { ...this.session.ref(), ...(turnId ? { turnId } : {}) });
      await this.page(`Trace of ${t.turnId}`, trace(t));
    });
  }

  /** The session's branches to choose from: all, the others than the one that is open, or those with a working copy of their own. */
  private async pickBranch(title: string, which: "all" | "others" | "forks"): Promise<{ sessionId: string; branchId: string } | undefined> {
    const { id } = this.session;
    const branches = id ? (await this.gate.request("agent/branch/list", { sessionId: id })).branches.filter((b) => (which === "others" ? b.branchId !== this.session.branch : which === "all" || b.parent)) : [];
    if (!id || branches.length === 0) {
      void vscode.window.showInformationMessage(id ? "Agent: there is no such branch; “Agent: Fork a Branch Here” makes one." : "Agent: there is no session yet; the first question begins one.");
      return undefined;
    }
    const items = branches.map((b) => ({
      label: b.name, description: [b.branchId === this.session.branch ? "open" : "", count(b.turns, "turn"), b.parent ? `from ${b.parent}` : ""].filter(Boolean).join("  "), id: b.branchId,
    }));
    const chosen = await vscode.window.showQuickPick(items, { title });
    return chosen && { sessionId: id, branchId: chosen.id };
  }

  compare(of?: { sessionId: string; branchId: string }): Promise<void> {
    return this.attempt(async () => {
      const branch = of ?? (await this.pickBranch("Agent: compare the open branch with", "others"));
      if (!branch) {
        return;
      }
      const c = await this.gate.request("agent/branch/compare", { sessionId: branch.sessionId, b: branch.branchId });
      await this.page(`Compare ${c.a.branch.name} and ${c.b.branch.name}`, comparison(c));
    });
  }

  adopt(of?: { sessionId: string; branchId: string }): Promise<void> {
    return this.attempt(async () => {
      const branch = of ?? (await this.pickBranch("Agent: adopt the edits of", "forks"));
      if (!branch) {
        return;
      }
      const r = await this.gate.request("agent/branch/adopt", branch);
      const left = r.files.filter((f) => f.skipped).map((f) => `; ${f.path} left alone: ${f.skipped}`);
      void vscode.window.showInformationMessage(`Agent: to review now: ${count(r.files.length - left.length, "file")} of the branch${left.join("")}`);
    });
  }

  fork(): Promise<void> {
    return this.attempt(async () => {
      const name = await vscode.window.showInputBox({ title: "Agent: fork a branch at the end of the latest turn", placeHolder: "its name (may stay empty)" });
      if (name === undefined) {
        return;
      }
      const b = await this.gate.request("agent/branch/fork", { ...this.session.ref(), ...(name ? { name } : {}) });
      await this.open({ sessionId: this.session.id, branchId: b.branchId });
    });
  }

  newSession(): Promise<void> {
    return this.attempt(async () => {
      const made = await this.gate.request("agent/session/new", {});
      await this.session.load({ sessionId: made.sessionId });
    });
  }

  open(ref: { sessionId?: string; branchId?: string }): Promise<void> {
    return this.attempt(async () => {
      if (ref.branchId) {
        await this.gate.request("agent/branch/switch", ref);
      }
      await this.session.load(ref);
    });
  }

  sessions(): Promise<void> {
    return this.attempt(async () => {
      const { sessions } = await this.gate.request("agent/session/list", {});
      const items = sessions.map((s) => ({
        label: s.title || "untitled", description: [s.sessionId === this.session.id ? "open" : "", count(s.turns, "turn"), when(s.lastActive)].filter(Boolean).join("  "), id: s.sessionId,
      }));
      const chosen = await vscode.window.showQuickPick([{ label: "$(add) New session", description: "", id: "" }, ...items], { title: "Agent: session", matchOnDescription: true });
      if (chosen) {
        await (chosen.id ? this.open({ sessionId: chosen.id }) : this.newSession());
      }
    });
  }

  branches(): Promise<void> {
    return this.attempt(async () => {
      const chosen = await this.pickBranch("Agent: branch", "all");
      if (chosen) {
        await this.open(chosen);
      }
    });
  }

  /** Lets the person choose a model. Those that can't be used say why. */
  async pickModel(title: string): Promise<string | undefined> {
    const { models } = await this.gate.request("agent/models", {});
    const items = models.map((m) => ({
      label: `${m.current ? "$(check) " : m.available ? "" : "$(circle-slash) "}${m.name}`, description: [m.alias ?? "", m.local ? "local" : ""].filter(Boolean).join("  "), detail: m.why, name: m.name,
    }));
    return (await vscode.window.showQuickPick(items, { title, matchOnDetail: true }))?.name;
  }

  model(name?: string): Promise<void> {
    return this.attempt(async () => {
      const chosen = name ?? (await this.pickModel("Agent: model"));
      if (chosen) {
        const r = await this.gate.request("agent/model/set", { ...this.session.ref(), model: chosen });
        await this.session.refresh();
        void vscode.window.setStatusBarMessage(`Agent: the model is ${r.current}`, 5000);
      }
    });
  }

  dispose(): void {
    this.changeEmitter.dispose();
    for (const l of this.listeners) {
      l.dispose();
    }
  }
}

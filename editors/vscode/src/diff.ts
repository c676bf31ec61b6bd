/** Changes as the editor itself shows them: the native diff of a file, and the marks beside line numbers that open in place. */
import * as vscode from "vscode";
import { base, proposed } from "./hunks";
import type { Live } from "./live";
import type { Session } from "./session";

const BASE = "agent-base"; // the document without the agent's hunks
const PROPOSED = "agent-proposed"; // with those that are held back
const AHEAD_MS = 50; // after a change, before the other side is made anew

const real = (uri: vscode.Uri) => vscode.Uri.parse(uri.query);
const virtual = (scheme: string, uri: vscode.Uri) => uri.with({ scheme, authority: "", query: uri.toString() });

export class Diffs implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly changeEmitter = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changeEmitter.event;
  private readonly listeners: vscode.Disposable[];
  private scm: { control: vscode.SourceControl; group: vscode.SourceControlResourceGroup; files: string } | undefined;
  private timer: NodeJS.Timeout | undefined;
  private seen = new Map<string, vscode.Uri>();

  constructor(private readonly session: Session, private readonly live: Live) {
    this.listeners = [
      vscode.workspace.registerTextDocumentContentProvider(BASE, this),
      vscode.workspace.registerTextDocumentContentProvider(PROPOSED, this),
      session.onHunks(() => this.changed()),
      vscode.workspace.onDidChangeTextDocument((e) => {
        if (this.seen.has(e.document.uri.toString())) {
          this.later();
        }
      }),
    ];
  }

  private later(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      for (const uri of this.seen.values()) {
        this.changeEmitter.fire(virtual(BASE, uri));
        this.changeEmitter.fire(virtual(PROPOSED, uri));
      }
    }, AHEAD_MS);
  }

  private changed(): void {
    this.later();
    const files = this.session.files();
    const names = files.map((f) => f.uri.toString()).join("\n");
    if (files.length === 0) {
      this.scm?.control.dispose();
      this.scm = undefined;
      return;
    }
    if (!this.scm) {
      const control = vscode.scm.createSourceControl("agentLsp", "Agent", vscode.workspace.workspaceFolders?.[0]?.uri);
      control.inputBox.visible = false;
      control.count = 0;
      const group = control.createResourceGroup("hunks", "Hunks to Review");
      this.scm = { control, group, files: "" };
    }
    this.scm.group.resourceStates = files.map((f) => ({
      resourceUri: f.uri,
      command: { title: "Open the file's changes", command: "agentLsp.openDiff", arguments: [f.uri] },
      decorations: { tooltip: `${f.hunks.length} to review` },
    }));
    if (this.scm.files !== names) {
      this.scm.files = names;
      this.scm.control.quickDiffProvider = undefined; // asked once per file: it must be asked again
      this.scm.control.quickDiffProvider = {
        provideOriginalResource: (uri) => (uri.scheme === "file" && this.session.hunksOf(uri).some((h) => !h.held) ? virtual(BASE, uri) : undefined),
      };
    }
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const file = real(uri);
    this.seen.set(file.toString(), file);
    const open = await vscode.workspace.openTextDocument(file).then((d) => d, () => undefined);
    const hunks = open ? this.live.of(open) : this.session.hunksOf(file);
    if (uri.scheme === BASE && hunks.some((h) => h.file === "deleted" && !h.held)) {
      return hunks.map((h) => h.baseText).join("");
    }
    const text = open?.getText() ?? "";
    return uri.scheme === BASE ? base(text, hunks) : proposed(text, hunks);
  }

  /** Opens the native diff of a file's pending hunks. */
  async open(uri: vscode.Uri): Promise<void> {
    const hunks = this.session.hunksOf(uri);
    const name = hunks[0]?.path ?? vscode.workspace.asRelativePath(uri);
    if (hunks.length > 0 && hunks.every((h) => h.held)) {
      await vscode.commands.executeCommand("vscode.diff", uri, virtual(PROPOSED, uri), `${name} (as it is ↔ as the agent proposes)`);
    } else {
      await vscode.commands.executeCommand("vscode.diff", virtual(BASE, uri), uri, `${name} (before the agent ↔ now)`);
    }
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.scm?.control.dispose();
    this.changeEmitter.dispose();
    for (const l of this.listeners) {
      l.dispose();
    }
  }
}

/** Reviewing in the file itself: the words above hunks, going from one to the next, sending decisions. */
import * as vscode from "vscode";
import { explain } from "./client";
import type { Decorations } from "./decorate";
import type { Diffs } from "./diff";
import { GLYPHS, count } from "./glyphs";
import { at, beside, deletedTitle, linesOf, remarks, size, span, within } from "./hunks";
import type { Live } from "./live";
import type { Hunk, ResolveParams } from "./protocol";
import type { Gate, Session } from "./session";
import { ownSettings } from "./settings";

const TYPING_MS = 1500; // after the last key an editor is not one where somebody types
const REDRAW_MS = 30; // while typing, drawings follow at most this often

export type Decision = "accept" | "reject";

export class Review implements vscode.CodeLensProvider, vscode.Disposable {
  private readonly lensEmitter = new vscode.EventEmitter<void>();
  readonly onDidChangeCodeLenses = this.lensEmitter.event;
  private readonly listeners: vscode.Disposable[];
  private redraw: NodeJS.Timeout | undefined;
  private typed = 0;
  private had = 0;

  constructor(
    private readonly gate: Gate, private readonly session: Session, private readonly live: Live,
    private readonly decorations: Decorations, private readonly diffs: Diffs,
  ) {
    this.listeners = [
      vscode.languages.registerCodeLensProvider({ scheme: "file" }, this),
      session.onHunks(() => this.changed()),
      vscode.window.onDidChangeVisibleTextEditors(() => this.draw()),
      vscode.window.onDidChangeActiveTextEditor(() => this.context()),
      vscode.window.onDidChangeTextEditorSelection(() => this.context()),
      vscode.workspace.onDidChangeTextDocument((e) => this.edited(e)),
    ];
  }

  private edited(e: vscode.TextDocumentChangeEvent): void {
    if (e.document === vscode.window.activeTextEditor?.document) {
      this.typed = Date.now();
    }
    if (this.session.hunksOf(e.document.uri).length > 0) {
      this.redraw ??= setTimeout(() => this.draw(), REDRAW_MS);
    }
  }

  private draw(): void {
    clearTimeout(this.redraw);
    this.redraw = undefined;
    this.decorations.drawAll();
    this.context();
  }

  private changed(): void {
    this.draw();
    this.lensEmitter.fire();
    if (this.had === 0 && this.session.pending > 0 && ownSettings().revealFirst && Date.now() - this.typed > TYPING_MS) {
      for (const editor of vscode.window.visibleTextEditors) {
        const first = this.live.of(editor.document)[0];
        if (first) {
          editor.revealRange(lineRange(editor.document, span(first).first), vscode.TextEditorRevealType.InCenterIfOutsideViewport);
        }
      }
    }
    this.had = this.session.pending;
  }

  private context(): void {
    const editor = vscode.window.activeTextEditor;
    const hunks = editor ? this.live.of(editor.document) : [];
    const set = (key: string, value: unknown) => void vscode.commands.executeCommand("setContext", `agentLsp.${key}`, value);
    set("pending", this.session.pending);
    set("hunksHere", hunks.length > 0);
    set("cursorInHunk", Boolean(editor && at(hunks, editor.selection.active.line)));
  }

  provideCodeLenses(document: vscode.TextDocument): vscode.CodeLens[] {
    const hunks = this.live.of(document);
    const own = ownSettings();
    const g = GLYPHS[own.glyphs];
    return hunks.flatMap((h, i) => {
      const range = lineRange(document, span(h).first);
      const lens = (title: string, command: string, tooltip?: string) => new vscode.CodeLens(range, { title, command: `agentLsp.${command}`, arguments: [h.hunkId], tooltip });
      const number = `hunk ${i + 1} of ${hunks.length}`;
      const gone = h.held ? `${g.plus} ${count(linesOf(h.newText).length, "new line")}` : deletedTitle(h, g, own.deletedLines);
      return [
        lens("$(check) Accept", "acceptHunk", `Accept ${number}`),
        lens("$(discard) Reject", "rejectHunk", `Reject ${number}`),
        lens([number, size(h, g), ...remarks(h)].join(g.between), "openDiff", "All changes of this file, side by side"),
        ...(gone ? [lens(gone, "peekHunk", "Show all of it here")] : []),
      ];
    });
  }

  /** The hunk that a command without an argument means. */
  private here(): { document: vscode.TextDocument; hunks: Hunk[] } | undefined {
    const editor = vscode.window.activeTextEditor;
    if (!editor) {
      return undefined;
    }
    const live = this.live.of(editor.document);
    const s = editor.selection;
    const one = at(live, s.active.line);
    return { document: editor.document, hunks: s.isSingleLine ? (one ? [one] : []) : within(live, s.start.line, s.end.line) };
  }

  find(hunkId: string): { uri: vscode.Uri; hunk: Hunk } | undefined {
    for (const f of this.session.files()) {
      const hunk = f.hunks.find((h) => h.hunkId === hunkId);
      if (hunk) {
        return { uri: f.uri, hunk };
      }
    }
    return undefined;
  }

  /** Decides one hunk: the one named, or those at the cursor or in the selection. */
  async decide(decision: Decision, hunkId: string | undefined, reason?: string): Promise<void> {
    const ids = hunkId !== undefined ? [hunkId] : (this.here()?.hunks.map((h) => h.hunkId) ?? []);
    if (ids.length === 0) {
      const more = this.session.pending > 0 ? ` ${count(this.session.pending, "hunk")} in ${count(this.session.files().length, "file")}: “Agent: Next Hunk”.` : "";
      void vscode.window.showInformationMessage(`Agent: no hunk at the cursor.${more}`);
      return;
    }
    await this.resolve({ hunkIds: ids, decision, reason });
  }

  async decideLine(decision: Decision, uri: vscode.Uri, line: number): Promise<void> {
    const document = vscode.workspace.textDocuments.find((d) => d.uri.toString() === uri.toString());
    const hunk = at(document ? this.live.of(document) : this.session.hunksOf(uri), Math.max(0, line));
    await this.decide(decision, hunk?.hunkId);
  }

  async decideFile(decision: Decision, uri: vscode.Uri | undefined): Promise<void> {
    const of = uri ?? vscode.window.activeTextEditor?.document.uri;
    const first = of && this.session.hunksOf(of)[0];
    if (!first) {
      void vscode.window.showInformationMessage("Agent: no hunks in this file.");
      return;
    }
    await this.resolve({ uri: first.uri, decision });
  }

  async decideAll(decision: Decision): Promise<void> {
    await this.resolve({ all: true, decision });
  }

  private async resolve(params: ResolveParams): Promise<void> {
    try {
      const { results } = await this.gate.request("agent/edits/resolve", params);
      const conflict = results.find((r) => r.outcome === "conflict");
      if (conflict) {
        void vscode.window.showWarningMessage(`Agent: conflict: ${conflict.detail ?? "both texts are kept"}`);
      }
    } catch (e) {
      void vscode.window.showWarningMessage(`Agent: ${explain(e)}`);
    }
  }

  /** The next hunk, or the last one before: in this file, then in the others. */
  async go(step: 1 | -1): Promise<void> {
    const files = this.session.files();
    if (files.length === 0) {
      void vscode.window.showInformationMessage("Agent: no hunks to review.");
      return;
    }
    const editor = vscode.window.activeTextEditor;
    const near = editor && beside(this.live.of(editor.document), editor.selection.active.line, step);
    if (editor && near) {
      await this.show(editor.document.uri, near);
      return;
    }
    const here = editor?.document.uri.toString();
    const i = files.findIndex((f) => f.uri.toString() === here);
    const n = files.length;
    const to = files[i < 0 ? (step > 0 ? 0 : n - 1) : (i + step + n) % n]!;
    await this.show(to.uri, step > 0 ? to.hunks[0]! : to.hunks.at(-1)!);
  }

  /** Opens the file at the hunk. */
  async show(uri: vscode.Uri, h: Hunk): Promise<void> {
    if (h.file === "deleted" && h.held !== true) {
      await this.diffs.open(uri); // there is no file to show
      return;
    }
    const document = await vscode.workspace.openTextDocument(uri);
    const now = this.live.of(document).find((l) => l.hunkId === h.hunkId) ?? h;
    const range = lineRange(document, span(now).first);
    const editor = await vscode.window.showTextDocument(document, { preserveFocus: false });
    editor.selection = new vscode.Selection(range.start, range.start);
    editor.revealRange(range, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
  }

  /** Shows a hunk's deleted lines in place, as the editor itself shows changes. */
  async peek(hunkId: string | undefined): Promise<void> {
    const found = hunkId !== undefined ? this.find(hunkId) : undefined;
    const uri = found?.uri ?? vscode.window.activeTextEditor?.document.uri;
    const hunk = found?.hunk ?? this.here()?.hunks[0];
    if (!uri || !hunk) {
      void vscode.window.showInformationMessage("Agent: no hunk at the cursor.");
      return;
    }
    if (hunk.held) {
      await this.diffs.open(uri);
      return;
    }
    await this.show(uri, hunk);
    await vscode.commands.executeCommand("editor.action.dirtydiff.next");
  }

  dispose(): void {
    clearTimeout(this.redraw);
    this.lensEmitter.dispose();
    for (const l of this.listeners) {
      l.dispose();
    }
  }
}

function lineRange(document: vscode.TextDocument, line: number): vscode.Range {
  const l = Math.min(line, document.lineCount - 1);
  return new vscode.Range(l, 0, l, 0);
}

/** Draws pending hunks into editors: backgrounds, signs in the margin, deleted text behind its replacement. */
import * as vscode from "vscode";
import { GLYPHS, type Glyphs } from "./glyphs";
import { asDiff, deleted, paired, remarks, span } from "./hunks";
import type { Live } from "./live";
import type { Hunk } from "./protocol";
import { ownSettings } from "./settings";

const OLD_CELLS_MAX = 100; // of a deleted line behind its replacement
const HOVER_LINES_MAX = 200;

type Kind = "added" | "held" | "conflict" | "gap";

function line(sign: string, background: string, ruler: string, media: vscode.Uri, extra: vscode.DecorationRenderOptions = {}): vscode.TextEditorDecorationType {
  return vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    ...(background ? { backgroundColor: new vscode.ThemeColor(background) } : {}),
    gutterIconPath: vscode.Uri.joinPath(media, `sign-${sign}.svg`),
    gutterIconSize: "contain",
    overviewRulerColor: new vscode.ThemeColor(ruler),
    overviewRulerLane: vscode.OverviewRulerLane.Left,
    ...extra,
  });
}

export class Decorations implements vscode.Disposable {
  private readonly types: Record<Kind, vscode.TextEditorDecorationType>;
  private readonly old = vscode.window.createTextEditorDecorationType({ rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed });
  private readonly drawn = new Set<string>();

  constructor(private readonly live: Live, extension: vscode.Uri) {
    const media = vscode.Uri.joinPath(extension, "media");
    const red = "editorOverviewRuler.deletedForeground";
    this.types = {
      added: line("added", "agentLsp.addedLineBackground", "editorOverviewRuler.addedForeground", media),
      held: line("deleted", "agentLsp.heldLineBackground", red, media),
      conflict: line("conflict", "agentLsp.conflictBackground", "editorOverviewRuler.warningForeground", media),
      gap: line("deleted", "", red, media, { borderColor: new vscode.ThemeColor("agentLsp.deletedForeground"), borderStyle: "dashed", borderWidth: "1px 0 0 0" }),
    };
  }

  drawAll(): void {
    for (const editor of vscode.window.visibleTextEditors) {
      this.draw(editor);
    }
  }

  draw(editor: vscode.TextEditor): void {
    const key = editor.document.uri.toString();
    const hunks = this.live.of(editor.document);
    if (hunks.length === 0 && !this.drawn.has(key)) {
      return;
    }
    const parts: Record<Kind, vscode.DecorationOptions[]> = { added: [], held: [], conflict: [], gap: [] };
    const old: vscode.DecorationOptions[] = [];
    const own = ownSettings();
    for (const [i, h] of hunks.entries()) {
      const options = lineOptions(editor.document, h, `hunk ${i + 1} of ${hunks.length}`);
      parts[options.kind].push(...options.lines);
      if (own.deletedLines) {
        old.push(...oldText(editor.document, h, GLYPHS[own.glyphs]));
      }
    }
    for (const kind of Object.keys(this.types) as Kind[]) {
      editor.setDecorations(this.types[kind], parts[kind]);
    }
    editor.setDecorations(this.old, old);
    if (hunks.length > 0) {
      this.drawn.add(key);
    } else {
      this.drawn.delete(key);
    }
  }

  dispose(): void {
    for (const t of [...Object.values(this.types), this.old]) {
      t.dispose();
    }
  }
}

function lineOptions(doc: vscode.TextDocument, h: Hunk, number: string): { kind: Kind; lines: vscode.DecorationOptions[] } {
  const { first, after } = span(h);
  const last = doc.lineCount - 1;
  const empty = after <= first;
  const kind = h.status === "conflict" ? "conflict" : empty ? "gap" : h.held ? "held" : "added";
  const hoverMessage = hover(h, number);
  const lines = [];
  for (let l = Math.min(first, last); l < Math.min(Math.max(after, first + 1), doc.lineCount); l++) {
    lines.push({ range: new vscode.Range(l, 0, l, 0), hoverMessage });
  }
  return { kind, lines: lines.length > 0 ? lines : [{ range: new vscode.Range(last, 0, last, 0), hoverMessage }] };
}

/** All of the hunk in words: this is where deleted lines are read by keyboard and by screen readers. */
function hover(h: Hunk, number: string): vscode.MarkdownString {
  const diff = asDiff(h).split("\n");
  const shown = diff.slice(0, HOVER_LINES_MAX).join("\n") + (diff.length > HOVER_LINES_MAX ? `\n… ${diff.length - HOVER_LINES_MAX} more lines` : "");
  const text = new vscode.MarkdownString(`**Agent**, ${[number, ...remarks(h)].join(", ")}\n`);
  return text.appendCodeblock(shown, "diff");
}

/** Each deleted line behind the line that replaced it; those without one stand above the hunk. */
function oldText(doc: vscode.TextDocument, h: Hunk, g: Glyphs): vscode.DecorationOptions[] {
  const gone = deleted(h);
  const { first } = span(h);
  const rows = Math.min(paired(h), doc.lineCount - first);
  const out: vscode.DecorationOptions[] = [];
  for (let i = 0; i < rows; i++) {
    const words = gone[i]!.trim();
    if (words === "") {
      continue;
    }
    const end = doc.lineAt(first + i).range.end;
    const contentText = words.length > OLD_CELLS_MAX ? words.slice(0, OLD_CELLS_MAX) + g.cut : words;
    const color = new vscode.ThemeColor("agentLsp.deletedForeground");
    out.push({ range: new vscode.Range(end, end), renderOptions: { after: { contentText, color, margin: "0 0 0 3ch", textDecoration: "line-through; opacity: 0.75; white-space: pre" } } });
  }
  return out;
}

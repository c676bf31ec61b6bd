/** Pending hunks of one document. Pure: lines are 0-based, texts end with a line break or at the document's end. */
import type { Hunk, Position, Range } from "./protocol";
import { type Glyphs } from "./glyphs";

/** A change of a document as the editor tells it: what stood in range was replaced. */
export interface TextChange {
  range: Range;
  text: string;
}

/** The lines of a text; a final line break begins no line. */
export function linesOf(text: string): string[] {
  if (text === "") {
    return [];
  }
  const out = text.split(/\r\n|\r|\n/);
  if (out.at(-1) === "") {
    out.pop();
  }
  return out;
}

/** First line and the line after the last one of what the hunk covers in the document now. */
export function span(h: Pick<Hunk, "range">): { first: number; after: number } {
  const { start, end } = h.range;
  return { first: start.line, after: end.character > 0 ? end.line + 1 : end.line };
}

export function touches(h: Hunk, line: number): boolean {
  const { first, after } = span(h);
  return after > first ? line >= first && line < after : line === first || line === first - 1;
}

export function at(hunks: readonly Hunk[], line: number): Hunk | undefined {
  return hunks.find((h) => touches(h, line));
}

/** Hunks that lie in some lines, both inclusive. */
export function within(hunks: readonly Hunk[], first: number, last: number): Hunk[] {
  return hunks.filter((h) => {
    const s = span(h);
    return s.first <= last && Math.max(s.first, s.after - 1) >= first;
  });
}

/** The next hunk below a line, or the last above it. */
export function beside(hunks: readonly Hunk[], line: number, step: 1 | -1): Hunk | undefined {
  return step > 0 ? hunks.find((h) => span(h).first > line) : hunks.findLast((h) => span(h).first < line);
}

export function sorted(hunks: readonly Hunk[]): Hunk[] {
  return [...hunks].sort((a, b) => a.range.start.line - b.range.start.line || (a.hunkId < b.hunkId ? -1 : 1));
}

function moved(p: Position, c: TextChange, stays: boolean): Position {
  const { start, end } = c.range;
  const before = p.line < start.line || (p.line === start.line && (p.character < start.character || (stays && p.character === start.character)));
  if (before) {
    return p;
  }
  const lines = c.text.split(/\r\n|\r|\n/);
  const last = { line: start.line + lines.length - 1, character: lines.at(-1)!.length + (lines.length === 1 ? start.character : 0) };
  if (p.line > end.line) {
    return { line: p.line + last.line - end.line, character: p.character };
  }
  if (p.line === end.line && p.character >= end.character) {
    return { line: last.line, character: last.character + p.character - end.character };
  }
  return start;
}

/** Where a range is after the person's typing, until the server says so itself. */
export function shift(range: Range, c: TextChange): Range {
  const empty = range.start.line === range.end.line && range.start.character === range.end.character;
  return { start: moved(range.start, c, false), end: moved(range.end, c, !empty) }; // what is typed at its edge is not in it
}

function offsets(text: string): number[] {
  const out = [0];
  for (let i = 0; i < text.length; i++) {
    if (text[i] === "\n" || (text[i] === "\r" && text[i + 1] !== "\n")) {
      out.push(i + 1);
    }
  }
  return out;
}

/** The text with each hunk's range holding something else: the document before the agent, or as it would be. */
export function replaced(text: string, hunks: readonly Hunk[], by: (h: Hunk) => string): string {
  const lines = offsets(text);
  const offset = (p: Position) => Math.min(text.length, (lines[p.line] ?? text.length) + p.character);
  let out = text;
  for (const h of sorted(hunks).reverse()) {
    out = out.slice(0, offset(h.range.start)) + by(h) + out.slice(offset(h.range.end));
  }
  return out;
}

/** The document without the agent's pending hunks. */
export function base(text: string, hunks: readonly Hunk[]): string {
  return replaced(text, hunks.filter((h) => !h.held), (h) => h.baseText);
}

/** The document with hunks that are held back. */
export function proposed(text: string, hunks: readonly Hunk[]): string {
  return replaced(text, hunks.filter((h) => h.held), (h) => h.newText);
}

/** "+6 −2" */
export function size(h: Hunk, g: Glyphs): string {
  return `${g.plus}${linesOf(h.newText).length} ${g.minus}${linesOf(h.baseText).length}`;
}

/** The first changed line, for lists. */
export function summary(h: Hunk): string {
  const old = linesOf(h.baseText);
  const seen = new Set(old);
  const fresh = linesOf(h.newText);
  return (fresh.find((l) => !seen.has(l) && l.trim() !== "") ?? old.find((l) => l.trim() !== "") ?? fresh[0] ?? "").trim();
}

/** What a hunk is, besides its lines. */
export function remarks(h: Hunk): string[] {
  return [
    ...(h.held ? ["not written until accepted"] : []),
    ...(h.file ? [`file ${h.file}`] : []),
    ...(h.status === "conflict" ? ["conflict: you changed these lines too"] : []),
  ];
}

/** Lines of the base that are not in the document now; of a held hunk nothing is gone yet. */
export function deleted(h: Hunk): string[] {
  return h.held ? [] : linesOf(h.baseText);
}

const LENS_CELLS = 90; // of a deleted line shown above its hunk

/** Deleted lines that have a line which replaced them: each can be shown behind it. */
export function paired(h: Hunk): number {
  const { first, after } = span(h);
  return Math.min(deleted(h).length, after - first);
}

/** What stands above a hunk: those of its deleted lines that are shown nowhere else. */
export function deletedTitle(h: Hunk, g: Glyphs, behind: boolean): string {
  const rest = deleted(h).slice(behind ? paired(h) : 0).filter((l) => l.trim() !== "");
  if (rest.length === 0) {
    return "";
  }
  const first = rest[0]!.trim();
  const words = first.length > LENS_CELLS ? first.slice(0, LENS_CELLS) + g.cut : first;
  return `${g.minus} ${words}${rest.length > 1 ? `   ${g.cut} ${rest.length - 1} more deleted` : ""}`;
}

/** A hunk as a diff that a person reads: all of the old, then all of the new. */
export function asDiff(h: Hunk): string {
  return [...linesOf(h.baseText).map((l) => `- ${l}`), ...linesOf(h.newText).map((l) => `+ ${l}`)].join("\n");
}

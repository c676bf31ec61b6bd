import assert from "node:assert/strict";
import { GLYPHS } from "../../src/glyphs";
import { asDiff, at, base, beside, deletedTitle, linesOf, proposed, shift, size, span, summary, within } from "../../src/hunks";
import type { Hunk, Range } from "../../src/protocol";

const lines = (first: number, after: number): Range => ({ start: { line: first, character: 0 }, end: { line: after, character: 0 } });

function hunk(first: number, baseText: string, newText: string, more: Partial<Hunk> = {}): Hunk {
  const n = linesOf(more.held ? baseText : newText).length;
  return { hunkId: `h${first}`, editId: "e", turnId: "t", uri: "file:///a", path: "a", range: lines(first, first + n), baseText, newText, status: "pending", ...more };
}

/** A seeded generator: a failure is the same failure again. */
function random(seed: number): (n: number) => number {
  let s = seed;
  return (n) => {
    s = (Math.imul(s, 1664525) + 1013904223) >>> 0;
    return s % n;
  };
}

suite("hunks", () => {
  const change = hunk(1, "old one\nold two\n", "new one\n");
  const deletion = hunk(3, "gone\n", "");
  const all = [change, deletion];

  test("what they cover", () => {
    assert.deepEqual(span(change), { first: 1, after: 2 });
    assert.deepEqual(span(deletion), { first: 3, after: 3 });
    assert.equal(at(all, 1), change);
    assert.equal(at(all, 2), deletion); // beside the gap
    assert.equal(at(all, 0), undefined);
    assert.deepEqual(within(all, 0, 1), [change]);
    assert.equal(beside(all, 0, 1), change);
    assert.equal(beside(all, 1, 1), deletion);
    assert.equal(beside(all, 9, -1), deletion);
    assert.equal(beside(all, 1, -1), undefined);
  });

  test("the text before the agent", () => {
    assert.equal(base("zero\nnew one\ntwo\nthree\n", all), "zero\nold one\nold two\ntwo\ngone\nthree\n");
    const held = hunk(0, "zero\n", "other\n", { held: true });
    assert.equal(base("zero\n", [held]), "zero\n");
    assert.equal(proposed("zero\n", [held]), "other\n");
    assert.equal(base("a\r\nnew\r\n", [hunk(1, "old\r\n", "new\r\n")]), "a\r\nold\r\n");
    assert.equal(base("only", [hunk(0, "", "only", { range: { start: { line: 0, character: 0 }, end: { line: 0, character: 4 } } })]), "");
  });

  test("in words", () => {
    assert.equal(size(change, GLYPHS.unicode), "+1 −2");
    assert.equal(summary(change), "new one");
    assert.equal(summary(deletion), "gone");
    assert.equal(deletedTitle(change, GLYPHS.unicode, true), "− old two");
    assert.equal(deletedTitle(change, GLYPHS.unicode, false), "− old one   … 1 more deleted");
    assert.equal(deletedTitle(deletion, GLYPHS.unicode, true), "− gone");
    assert.equal(asDiff(change), "- old one\n- old two\n+ new one");
  });

  test("typing moves them: a range keeps its text under random edits around it", () => {
    for (let seed = 1; seed <= 300; seed++) {
      const r = random(seed);
      let text = Array.from({ length: 6 + r(6) }, (_, i) => `line ${i}`).join("\n") + "\n";
      const first = r(5);
      const after = first + 1 + r(2);
      let range = lines(first, after);
      const cut = (t: string, g: Range) => {
        const l = t.split("\n");
        return g.start.line === g.end.line ? l[g.start.line]!.slice(g.start.character, g.end.character)
          : [l[g.start.line]!.slice(g.start.character), ...l.slice(g.start.line + 1, g.end.line), l[g.end.line]!.slice(0, g.end.character)].join("\n");
      };
      const want = cut(text, range);
      for (let n = 0; n < 8; n++) {
        const count = text.split("\n").length;
        // before the range, or after it; never inside
        const before = r(2) === 0;
        const a = before ? r(range.start.line + 1) : range.end.line + r(count - range.end.line);
        const b = before ? a + r(range.start.line - a + 1) : a + r(count - a);
        const with_ = ["", "x\n", "x\ny\n"][r(3)]!;
        if (!before && a === range.end.line && b === a && with_ === "") {
          continue;
        }
        const edit = { range: lines(a, b), text: with_ };
        const l = text.split("\n");
        text = [...l.slice(0, a), ...with_.split("\n").slice(0, -1), ...l.slice(b)].join("\n");
        range = shift(range, edit);
        assert.ok(cut(text, range).startsWith(want), `seed ${seed}, edit ${n}: ${JSON.stringify(cut(text, range))} instead of ${JSON.stringify(want)}`);
      }
    }
  });
});

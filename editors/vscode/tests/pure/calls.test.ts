import assert from "node:assert/strict";
import { test } from "node:test";
import type { Call, CyclesMeta } from "../../src/protocol";
import { namesOf, placeOf, quoteOf, runs, standing, stateOf, took } from "../../webview/calls";
import { byteOffset, unitOffset } from "../../webview/offsets";
import { glyphs } from "../../webview/glyphs";
import { ago, clean, cost, cut, duration, firstLine, thousands, tokens } from "../../webview/words";

const call = (callId: string, tool: string, args: unknown, status?: "ok" | "error", text = ""): Call => ({ callId, tool, args, result: status ? { status, text } : null });
const g = glyphs("unicode");
const meta = {
  cycles: {},
  calls: {
    c1: { title: "net/transport.go", state: "ok", started: "2026-01-01T10:00:01.000Z", ms: 80, detail: { summary: "59 lines", paths: ["net/transport.go:210-268"] } },
    c2: { title: "dial.go", state: "ok", started: "2026-01-01T10:00:01.040Z", ms: 120, detail: {} },
    c5: { title: "client.go", state: "ok", ms: 5, detail: { summary: "+1 −1" } },
    c7: { title: "go test", state: "error", ms: 4210, detail: { summary: "exit 1" } },
    c8: { title: "rm -rf build", state: "refused", ms: 0, why: "the person said no" },
    c10: { title: "make", state: "ok", ms: 10, detail: { summary: "exit 0, not sandboxed", sandboxed: false } },
    c11: { title: "make", state: "ok", ms: 10, detail: { summary: "exit 0", sandboxed: true } },
    c9: { title: "make release", state: "asking", ms: 0 },
  },
} as unknown as CyclesMeta;
const calls = {
  c1: call("c1", "read", {}, "ok"), c2: call("c2", "read", {}, "ok"), c4: call("c4", "grep", { pattern: "backoff", path: "net/" }, "ok"),
  c5: call("c5", "edit", {}, "ok"), c7: call("c7", "bash", {}, "error", "FAIL\n"), c8: call("c8", "bash", {}, "error", "refused"), c9: call("c9", "bash", {}),
  c10: call("c10", "bash", {}, "ok"), c11: call("c11", "bash", {}, "ok"),
};

test("adjacent calls of one tool are one row", () => {
  const group = { type: "read-group" as const, calls: [calls.c1, calls.c2, calls.c4, call("x", "read", {})] };
  assert.deepEqual(runs(group).map((r) => [r.tool, r.from, r.calls.length]), [["read", 0, 2], ["grep", 2, 1], ["read", 3, 1]]);
});

test("a row names its calls as the terminal and Neovim do", () => {
  const names = (list: Call[]) => namesOf(meta, list).map((n) => n.name);
  assert.deepEqual(names([calls.c1, calls.c2]), ["net/transport.go:210-268", "dial.go"]);
  assert.deepEqual(names([calls.c4]), ['"backoff" in net/']);
  assert.deepEqual(names([calls.c5]), ["client.go (+1 −1)"]);
  assert.deepEqual(names([calls.c7]), ["go test   exit 1"]);
  assert.deepEqual(names([calls.c10]), ["make   exit 0, not sandboxed"]);
  assert.deepEqual(names([calls.c11]), ["make"]);
  assert.equal(names(Array.from({ length: 9 }, () => calls.c2)).at(-1), "3 more");
});

test("the most telling state gives the glyph", () => {
  assert.deepEqual(standing(meta, [calls.c1], true, g), { state: "ok", words: "" });
  assert.deepEqual(standing(meta, [calls.c7, calls.c8, calls.c9], true, g), { glyph: "⧗", state: "asking", words: "1 failed, 1 refused, 1 asks you" });
  assert.deepEqual(standing(meta, [calls.c9], false, g), { glyph: "–", state: "lost", words: "no result" });
  assert.equal(stateOf(meta, calls.c8, true), "refused");
});

test("calls that run at the same time take from the first start to the last end", () => {
  assert.equal(took(meta, [calls.c1, calls.c2]), 160);
  assert.equal(took(meta, [calls.c9]), undefined);
});

test("what is quoted and what is opened", () => {
  assert.equal(quoteOf(meta, calls.c7, true, false), "FAIL");
  assert.equal(quoteOf(meta, calls.c8, true, false), "the person said no");
  assert.equal(quoteOf(meta, calls.c1, true, false), "");
  assert.deepEqual(placeOf(meta, calls.c1), { path: "net/transport.go", line: 210 });
  assert.equal(placeOf(meta, calls.c9), undefined);
});

test("numbers", () => {
  assert.deepEqual([99, 12_400, 185_000, 7_440_000].map(duration), ["0.0 s", "12.4 s", "3 min 5 s", "2 h 4 min"]);
  assert.deepEqual([612, 6120, 28_000, 999_949, 1_200_000].map(tokens), ["612", "6.1k", "28.0k", "999.9k", "1.2M"]);
  assert.deepEqual([0, 0.001, 0.041].map(cost), ["", "<$0.01", "$0.04"]);
  assert.deepEqual([7, 1234, 1_234_567].map(thousands), ["7", "1\u2009234", "1\u2009234\u2009567"]);
  assert.equal(ago("2026-01-01T10:00:00Z", Date.parse("2026-01-01T13:10:00Z")), "3 h");
});

test("text", () => {
  assert.deepEqual(firstLine("\n one\r\n\ntwo\nthree "), { line: "one", more: 3 });
  assert.equal(cut("abcdef", 4), "abc…");
  assert.equal(clean("clear \u001b[2J and \u202eturn"), "clear \ufffd[2J and \ufffdturn");
});

test("the server's bytes and the prompt's units", () => {
  const text = "é𝒳 @fo";
  assert.equal(byteOffset(text, text.length), 10);
  assert.equal(unitOffset(text, 7), 4);
});

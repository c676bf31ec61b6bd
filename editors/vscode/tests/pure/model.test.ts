import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { newMeta, newModel, Projection, reduce, reduceMeta, type Model } from "../../src/model";
import type { CycleMeta, CycleNotification, CycleOp, CyclesResult } from "../../src/protocol";

declare const EXTENSION: string;
const corpus = join(EXTENSION, "../../cycle/testdata/corpus"); // the server's own: its Reduce is held to the same files
const stories = readdirSync(corpus).map((name) => ({ name, ...(JSON.parse(readFileSync(join(corpus, name), "utf8")) as { ops: CycleOp[][]; model: Model }) }));

test("the corpus is there", () => assert.ok(stories.length >= 13));

for (const story of stories) {
  test(`corpus: ${story.name}`, () => {
    const m = newModel();
    for (const ops of story.ops) {
      assert.equal(reduce(m, ops), undefined);
    }
    assert.deepEqual(m, story.model);
  });

  test(`corpus, all ops at once: ${story.name}`, () => {
    const m = newModel();
    assert.equal(reduce(m, story.ops.flat()), undefined);
    assert.deepEqual(m, story.model);
  });
}

const open: CycleOp = { op: "cycle", cycle: "m1", kind: "direct", text: "go" };
const block: CycleOp = { op: "step", cycle: "m1", step: 1, type: "ai-block", kind: "assistant", id: "o1", text: "" };
const call = { op: "call", cycle: "m1", type: "bash-group", callId: "c", tool: "bash", args: {} } as const;
const misfits: [string, CycleOp[], string][] = [
  ["a second cycle", [open, { op: "cycle", cycle: "m2", kind: "direct", text: "" }], "a cycle is active already"],
  ["another cycle", [open, { op: "status", cycle: "m2", status: "completed" }], 'cycle "m2" is not the active one'],
  ["nothing open", [{ op: "text", cycle: "m1", step: 0, text: "x" }], "not the active one"],
  ["a step too far", [open, { op: "step", cycle: "m1", step: 5, type: "steer", id: "x", text: "" }], "step 5 can't follow 1 steps"],
  ["text of no step", [open, { op: "text", cycle: "m1", step: 9, text: "x" }], "there is no step 9"],
  ["a call of a user step", [open, { ...call, step: 0, group: 0, call: 0 }], "step 0 is no ai-block"],
  ["a group too far", [open, block, { ...call, step: 1, group: 3, call: 0 }], "group 3 can't follow 0 groups"],
  ["a call too far", [open, block, { ...call, step: 1, group: 0, call: 4 }], "there is no group 0"],
  ["a result of no call", [open, block, { op: "result", cycle: "m1", step: 1, group: 0, call: 0, status: "ok", text: "" }], "there is no group 0"],
  ["feedback without a round", [open, { op: "feedback", cycle: "m1", id: "x" }], "the cycle has no round"],
  ["an empty queue", [{ op: "pop" }], "the queue is empty"],
  ["an unknown op", [open, { op: "later", cycle: "m1" } as unknown as CycleOp], "unknown kind of op"],
];
for (const [name, ops, says] of misfits) {
  test(`an op that doesn't fit is said: ${name}`, () => {
    const fault = reduce(newModel(), ops);
    assert.ok(fault?.includes(says), fault);
  });
}

test("a model without rounds takes ops of rounds", () => {
  const m = newModel();
  reduce(m, [open]);
  delete m.cycles[0]!.rounds;
  assert.equal(reduce(m, [{ op: "round", cycle: "m1", n: 1, input: ["m1"] }, { op: "output", cycle: "m1", id: "o" }]), undefined);
  assert.equal(m.cycles[0]!.rounds, undefined);
});

test("meta ops replace entries", () => {
  const meta = newMeta();
  const state = (s: string) => ({ state: s }) as CycleMeta;
  reduceMeta(meta, [{ cycle: "m1", cycleMeta: state("running") }, { cycle: "m1", cycleMeta: state("done") }]);
  assert.deepEqual(meta, { cycles: { m1: { state: "done" } }, calls: {} });
});

const snapshot = (rev: number, branchId = "b1"): CyclesResult => ({ rev, sessionId: "s1", branchId, state: "idle", cycles: [], queued: [], anomalies: [], meta: newMeta() });
const delta = (rev: number, ops: CycleOp[], branchId = "b1"): CycleNotification => ({ sessionId: "s1", branchId, cycleId: "m1", rev, ops });
const push = (id: string): CycleOp => ({ op: "push", id, text: id });
const queued = (p: Projection) => p.model.queued.map((q) => q.id);

test("deltas in order apply, known ones are passed over, a gap is said", () => {
  const p = new Projection();
  assert.equal(p.take(snapshot(3)), "applied");
  assert.equal(p.apply(delta(4, [push("a")])), "applied");
  assert.equal(p.apply(delta(4, [push("a")])), "ignored");
  assert.equal(p.apply(delta(6, [push("c")])), "gap");
  assert.deepEqual(queued(p), ["a"]);
});

test("what comes while a snapshot is fetched is applied after it", () => {
  const p = new Projection();
  assert.equal(p.apply(delta(4, [push("a")])), "ignored");
  assert.equal(p.apply(delta(5, [push("b")])), "ignored");
  assert.equal(p.take(snapshot(4)), "applied");
  assert.deepEqual(queued(p), ["b"]);
});

test("the delta that showed the gap is not lost", () => {
  const p = new Projection();
  p.take(snapshot(1));
  assert.equal(p.apply(delta(3, [push("late")])), "gap");
  assert.equal(p.take(snapshot(2)), "applied");
  assert.deepEqual(queued(p), ["late"]);
  assert.equal(p.rev, 3);
});

test("a hole among the held deltas is a gap again", () => {
  const p = new Projection();
  p.apply(delta(7, [push("x")]));
  assert.equal(p.take(snapshot(4)), "gap");
});

test("another session's deltas are ignored, another branch's count", () => {
  const p = new Projection();
  p.take(snapshot(1));
  assert.equal(p.apply({ ...delta(2, [push("no")]), sessionId: "s2" }), "ignored");
  assert.equal(p.apply(delta(2, [push("no")], "b2")), "ignored");
  assert.equal(p.apply(delta(3, [push("yes")])), "applied");
  assert.deepEqual(queued(p), ["yes"]);
});

test("ops that don't fit are a gap", () => {
  const p = new Projection();
  p.take(snapshot(1));
  assert.equal(p.apply(delta(2, [{ op: "pop" }])), "gap");
});

test("a delta touches what it changed and nothing else", () => {
  const seen: string[] = [];
  const p = new Projection({
    cycle: (id) => seen.push(`cycle ${id}`),
    step: (id, i) => seen.push(`step ${id}/${i}`),
    text: (id, i) => seen.push(`text ${id}/${i}`),
    call: (id) => seen.push(`call ${id}`),
    tail: () => seen.push("tail"),
  });
  p.take(snapshot(0));
  p.apply(delta(1, [open, block, { op: "text", cycle: "m1", step: 1, text: "x" }, { ...call, step: 1, group: 0, call: 0 }]));
  p.apply(delta(2, [push("q"), { op: "status", cycle: "m1", status: "completed" }]));
  assert.deepEqual(seen, ["cycle m1", "step m1/1", "text m1/1", "step m1/1", "tail", "cycle m1"]);
});

/** Milliseconds that 20,000 small deltas take on a tree of so many steps: the best of three. */
function cost(steps: number): number {
  const grow = (i: number): CycleOp => ({ op: "step", cycle: "m1", step: i + 1, type: "ai-block", kind: "assistant", id: `o${i}`, text: "x" });
  let best = Infinity;
  for (let run = 0; run < 3; run++) {
    const p = new Projection();
    p.take(snapshot(0));
    p.apply(delta(1, [open, ...Array.from({ length: steps }, (_, i) => grow(i))]));
    const begin = performance.now();
    for (let i = 0; i < 20_000; i++) {
      p.apply(delta(i + 2, [{ op: "text", cycle: "m1", step: steps, text: "t" }]));
    }
    best = Math.min(best, performance.now() - begin);
  }
  return best;
}

test("a delta costs what it changes, not what there is", () => {
  const small = cost(50);
  const large = cost(5000);
  assert.ok(large < small * 5 + 20, `50 steps: ${small.toFixed(1)} ms, 5,000 steps: ${large.toFixed(1)} ms`);
});

import assert from "node:assert/strict";
import { Control } from "../../src/control";
import { GLYPHS } from "../../src/glyphs";
import type { ControlMessage } from "../../src/protocol";
import { words, type Status } from "../../src/status";

const ACK_MS = 20;

suite("control", () => {
  const reply = (to: ControlMessage, type: "ACK" | "RESULT", payload = {}): ControlMessage => ({ ...to, type, payload });
  let sent: ControlMessage[];
  setup(() => {
    sent = [];
  });

  test("a REQUEST has what the protocol asks for", async () => {
    const c = new Control((m) => sent.push(m));
    const done = c.request("run-1", "escalate", { model: "opus" });
    const m = sent[0]!;
    assert.match(m.request_id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.deepEqual({ ...m, request_id: "", timestamp: "" }, { schema: 0, type: "REQUEST", request_id: "", command: "escalate", target: { run_id: "run-1" }, timestamp: "", payload: { model: "opus" } });
    c.answered(reply(m, "ACK"));
    c.answered(reply(m, "RESULT", { status: "success", new_model: "work/big" }));
    assert.equal((await done).new_model, "work/big");
  });

  test("without an ACK it is sent once more with the same id, then given up aloud", async () => {
    const c = new Control((m) => sent.push(m), undefined, ACK_MS);
    const payload = await c.request("run-1", "pause");
    assert.equal(sent.length, 2);
    assert.deepEqual(sent[1], sent[0]);
    assert.equal(payload.status, "failure");
    assert.equal(payload.code, "no_answer");
  });

  test("with an ACK it is not sent again, however long the RESULT takes", async () => {
    const c = new Control((m) => sent.push(m), undefined, ACK_MS);
    const done = c.request("run-1", "pause");
    c.answered(reply(sent[0]!, "ACK"));
    await new Promise((r) => setTimeout(r, ACK_MS * 4));
    assert.equal(sent.length, 1);
    c.answered(reply(sent[0]!, "RESULT", { status: "success" }));
    assert.equal((await done).status, "success");
  });

  test("a RESULT without an ACK is an answer too; others' are not", async () => {
    const c = new Control((m) => sent.push(m));
    const done = c.request("gone", "resume");
    c.answered({ ...reply(sent[0]!, "RESULT", { status: "success" }), request_id: "somebody else's" });
    c.answered(reply(sent[0]!, "RESULT", { status: "failure", code: "not_found" }));
    assert.equal((await done).code, "not_found");
  });

  test("a server that ends answers nothing more", async () => {
    const c = new Control((m) => sent.push(m));
    const done = c.request("run-1", "cancel");
    c.lost();
    assert.equal((await done).status, "failure");
  });
});

suite("the status bar's words", () => {
  const idle: Status = { state: "idle", pending: 0, files: 0, model: "anthropic/sonnet", noModel: false, iter: 3, max: 40, elapsed: 12_400 };
  const cases: [Partial<Status>, string][] = [
    [{}, "agent ○"],
    [{ state: "running" }, "agent ● 3/40 sonnet 12s"],
    [{ state: "paused" }, "agent ⏸ paused"],
    [{ state: "waiting" }, "agent ⧗ asks you"],
    [{ pending: 3 }, "agent ⧗ 3 hunks"],
    [{ pending: 1 }, "agent ⧗ 1 hunk"],
    [{ noModel: true }, "agent ⚠ no model"],
    [{ state: "starting" }, "agent · starting"],
    [{ state: "none" }, "agent ⚠ no server"],
  ];
  for (const [change, want] of cases) {
    test(want, () => assert.equal(words({ ...idle, ...change }, GLYPHS.unicode), want));
  }
  test("in ASCII", () => assert.equal(words({ ...idle, state: "running" }, GLYPHS.ascii), "agent * 3/40 sonnet 12s"));
});

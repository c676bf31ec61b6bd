// What the pages play: the recording of the real server, and beside it one run with one of everything that a tree draws.
import { readFileSync } from "node:fs";
import { join } from "node:path";

export const recording = JSON.parse(readFileSync(join(import.meta.dirname, "recording.json"), "utf8"));

const settings = { enterWhileRunning: "steer", glyphs: "unicode" };
const tips = ["Where is backoff defined?", "Who calls Reconnect?", "Run the tests"];
const models = { current: "builtin", models: [{ name: "builtin", available: true, current: true }, { name: "ollama/qwen3-coder", available: true, current: false }] };

export function state(more = {}) {
  return { type: "state", state: { server: "ready", sessionId: "s1", branchId: "b1", title: "Fix the flaky reconnect test", attached: [], settings, status: { model: "anthropic/claude-sonnet", tips, index: { state: "ready", files: 212, chunks: 900, done: 212, total: 212 } }, ...more } };
}

const call = (callId, tool, args, status, text = "") => ({ callId, tool, args, result: status ? { status, text } : null });
const block = (kind, id, text, ...groups) => ({ type: "ai-block", text: { kind, id, text }, groups });
const at = (ms) => new Date(Date.UTC(2026, 0, 1, 10, 0, 0, ms)).toISOString();
export const NOW = Date.UTC(2026, 0, 1, 10, 0, 12, 400);

const FAILED = "--- FAIL: TestReconnect (0.51s)\n    reconnect_test.go:41: want connected\nFAIL\n" + "goroutine 7 [running]\n".repeat(38) + "exit status 1";

/** The run of the design: reading, a steer, edits, a failed command. */
export function story(change = () => undefined) {
  const cycle = {
    id: "m1", root: { id: "m1", kind: "direct", text: "Fix the flaky reconnect test" }, status: "active", rounds: [],
    steps: [
      { type: "non-steer", id: "m1", text: "Fix the flaky reconnect test" },
      block("reasoning", "r1", "The test may sleep.\nI should look at the transport first."),
      block("assistant", "o1", "I'll look at how the **transport** retries, then at the `test`.",
        { type: "read-group", calls: [call("c1", "read", { path: "net/transport.go" }, "ok", "func retry() {}\n"), call("c2", "read", { path: "dial.go" }, "ok", "x"), call("c3", "read", { path: "reconnect_test.go" }, "ok", "x"), call("c4", "grep", { pattern: "backoff", path: "net/" }, "ok", "9 lines")] }),
      { type: "steer", id: "m2", text: "only the client side, please" },
      block("assistant", "o2", "The test sleeps instead of waiting for the callback.\nSo it waits now.",
        { type: "write-group", calls: [call("c5", "edit", { path: "reconnect_test.go" }, "ok"), call("c6", "edit", { path: "client.go" }, "ok")] },
        { type: "bash-group", calls: [call("c7", "bash", { command: "go test ./net -run Reconnect" }, "error", FAILED)] }),
      block("assistant", "o3", "One more place sleeps.", { type: "bash-group", calls: [call("c10", "bash", { command: "go test ./net -count 20" })] }),
    ],
  };
  const meta = {
    cycles: { m1: { turnId: "t1", runId: "run-1", state: "running", model: "anthropic/claude-sonnet", iter: 5, max: 40, started: at(0), elapsedMs: 0, planId: "p1", contextItems: 14, contextTokens: 6120, contextBudget: 28000, plans: ["p1"], tokens: 18200, costUsd: 0.041, notes: [{ kind: "retry", text: "the provider is overloaded, trying again" }], unread: [] } },
    calls: {
      c1: { title: "net/transport.go", state: "ok", started: at(1000), ms: 80, detail: { summary: "59 lines", paths: ["net/transport.go:210-268"] } },
      c2: { title: "dial.go", state: "ok", started: at(1000), ms: 120, detail: { summary: "44 lines", paths: ["dial.go:1-44"] } },
      c3: { title: "reconnect_test.go", state: "ok", started: at(1010), ms: 60, detail: { paths: ["reconnect_test.go:1-90"] } },
      c4: { title: '"backoff" in net/', state: "ok", started: at(1200), ms: 9, detail: { summary: "9 matches" } },
      c5: { title: "reconnect_test.go", state: "ok", started: at(3000), ms: 5, detail: { summary: "+6 −2" } },
      c6: { title: "client.go", state: "ok", started: at(3000), ms: 5, detail: { summary: "+1 −1" } },
      c7: { title: "go test ./net -run Reconnect", state: "error", started: at(4000), ms: 4210, ref: "run-17/4", detail: { summary: "exit 1" } },
      c10: { title: "go test ./net -count 20", state: "running", started: at(9000), ms: 0 },
    },
  };
  const hunk = (hunkId, callId, path) => ({ hunkId, editId: "e1", turnId: "t1", callId, uri: `file:///home/ada/net/${path}`, path, status: "pending", baseText: "a\n", newText: "b\n", range: { start: { line: 1, character: 0 }, end: { line: 2, character: 0 } } });
  const load = {
    sessionId: "s1", branchId: "b1", title: "Fix the flaky reconnect test", branches: [], turns: 1, model: "anthropic/claude-sonnet", mode: "executing",
    cycles: { rev: 7, sessionId: "s1", branchId: "b1", state: "active", cycles: [cycle], queued: [{ id: "m3", text: "then run the whole suite\nand commit" }, { id: "m4", text: "update the changelog" }], anomalies: [], meta },
    edits: { hunks: [hunk("h1", "c5", "reconnect_test.go"), hunk("h2", "c5", "reconnect_test.go"), hunk("h3", "c6", "client.go")] },
  };
  change(load, cycle, meta);
  const sessions = [["s1", "Fix the flaky reconnect test", 1, "2026-01-01T10:00:00Z"], ["s2", "How does the transport retry?", 4, "2026-01-01T07:40:00Z"], ["s3", "Rename Dial to Connect", 2, "2025-12-30T07:40:00Z"]]
    .map(([sessionId, title, turns, lastActive]) => ({ sessionId, title, turns, lastActive, branchId: "b1", branches: [] }));
  return {
    view: "chat", now: NOW, greeting: [state()],
    answers: { "agent/session/load": load, "agent/session/list": { sessions }, "agent/models": models, "agent/queue": { sessionId: "s1", branchId: "b1", paused: false, queued: load.cycles.queued }, "agent/complete": { byText: { "/": recording.complete.slash, "@cl": recording.complete.at } }, "agent/submit": { sessionId: "s1", branchId: "b1", turnId: "t2", cycleId: "m9", kind: "steer" }, "editor/image": { uri: "http://webview.test/plan.svg" } },
    files: { "plan.svg": '<svg xmlns="http://www.w3.org/2000/svg" width="360" height="120"><rect width="360" height="120" rx="8" fill="#3794ff"/><text x="30" y="70" font-size="26" fill="white">client ⇄ server</text></svg>' },
  };
}

/** A turn of several steps with tags, and two subtasks: what the server tells beside the steps. */
export const workflow = (status = "running") => story((load, cycle, meta) => {
  const step = (goal, now, more = {}) => ({ goal, tools: [], check: "edited", onFail: "stop", budget: 12, status: now, ...more });
  cycle.root.text = "#code fix @dial.go, then tidy up, run the tests and report";
  cycle.steps = [
    { type: "non-steer", id: "m1", text: cycle.root.text },
    block("assistant", "o1", "Two questions first.", { type: "other-group", calls: [call("s1", "task", { prompt: "who calls dial" }, "ok", "two places"), call("s2", "task", { prompt: "where are timeouts set" })] }),
  ];
  meta.calls = {
    s1: { title: "who calls dial", state: "ok", started: at(1000), ms: 2100, subtask: { id: "b1", iter: 2, max: 12, model: "m", calls: ["grep dial", "read net/dial.go"], asked: 2, tokens: 8700, costUsd: 0.03, done: true } },
    s2: { title: "where are timeouts set", state: "running", started: at(1000), ms: 0, subtask: { id: "b2", iter: 1, max: 12, model: "m", calls: ["grep timeout"], asked: 1, tokens: 3900, costUsd: 0.01, done: false } },
  };
  Object.assign(meta.cycles.m1, {
    route: "READ, SEARCH, WRITE", routeWhy: "#code named them", chips: [{ kind: "tag", text: "#code", detail: "read, search, write" }, { kind: "mention", text: "@dial.go" }],
    notes: [{ kind: "compaction", text: "3 items of 8.1k tokens left the context for a summary of 340", ref: "history-1" }],
    workflow: { goal: cycle.root.text, status, method: "rules", steps: status === "proposed" ? ["fix @dial.go", "tidy up", "run the tests", "report"].map((g) => step(g, "pending")) : [
      step("fix @dial.go", "done"), step("tidy up", "skipped", { note: "no file was changed" }), step("run the tests", "running", { try: 2, started: 3 }), step("report", "pending")] },
  });
  if (status === "proposed") {
    Object.assign(load.cycles, { state: "idle", queued: [] });
    cycle.status = "completed";
    cycle.steps.splice(1);
  }
});

export const permission = (more = {}) => ({
  type: "permission", id: "q1",
  params: { runId: "run-1", toolCallId: "c10", tool: "bash", title: "rm -rf build && go build ./...", detail: "in ~/src/net · sandboxed: writes only here, no network", options: [
    { id: "o1", kind: "allow_once", name: "Allow once" }, { id: "o2", kind: "allow_always", name: "Always allow bash(go build *) = allow" }, { id: "o3", kind: "reject_once", name: "Reject" }], ...more },
});

export const MARKDOWN = `# Why it is flaky

The test **sleeps** for half a second, see \`reconnect\` at net/client.go:41, and then looks whether the connection is there:

\`\`\`go
// the callback closes the channel
func (c *Client) wait() error {
	select {
	case <-c.connected:
		return nil
	case <-time.After(2 * time.Second):
		return errors.New("not connected")
	}
}
\`\`\`

1. first, a long point that goes over the end of the row and hangs below its own text, as lists do
2. *second*, see [the change](net/reconnect_test.go)

| run | before | after |
|---|--:|--:|
| 20 times | 6 failed | 0 failed |

> It was the sleep all along.

\`\`\`chart
{"type": "bar", "title": "Failures of 20 runs", "data": {"labels": ["before", "after"], "datasets": [{"label": "failed", "data": [6, 0]}, {"label": "passed", "data": [14, 20]}]}}
\`\`\`

![how client and server talk](docs/plan.svg)
`;

/** The answer in markdown, with code, a table, a chart and a picture. */
export const answer = () => story((load, cycle, meta) => {
  cycle.steps.splice(3, 99, block("assistant", "o9", MARKDOWN));
  cycle.status = "completed";
  Object.assign(meta.cycles.m1, { state: "done", ended: at(12400), elapsedMs: 12400, notes: [] });
  Object.assign(load.cycles, { state: "idle", queued: [] });
  load.edits.hunks = [];
});

/** What the real server said. */
export function recorded() {
  const { load } = recording;
  return {
    view: "chat", greeting: [state({ sessionId: load.sessionId, branchId: load.branchId, title: load.title, status: recording.status })],
    answers: { "agent/session/load": load, "agent/session/list": recording.sessions, "agent/models": recording.models, "agent/queue": { paused: false, queued: [] }, "agent/complete": { byText: { "/": recording.complete.slash, "@cl": recording.complete.at } } },
  };
}

export const welcome = () => ({
  view: "chat", greeting: [state({ sessionId: undefined, branchId: undefined, title: undefined, status: { model: "builtin", tips, index: { state: "ready", files: 212 } } })],
  answers: { "agent/session/list": { sessions: [] }, "agent/models": models },
});

export function context(change = (plan) => plan) {
  const plan = change(structuredClone(recording.plan));
  return {
    view: "context", greeting: [state({ sessionId: plan.sessionId, branchId: plan.branchId })],
    answers: { "agent/plan": plan, "agent/cycles": recording.load.cycles, "agent/plan/diff": recording.diff, "agent/pin": { pins: [] }, "agent/unpin": { pins: [] } },
  };
}

// Records what the real server says to a client: node tests/webview/record.mjs [path of agent-lsp]
// A small project, the built-in model, a handful of messages; the answers and notifications become recording.json, which the
// tests of the webviews play. Times and ids are the server's own; the project's place is written as /home/ada/net.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const binary = resolve(process.argv[2] ?? join(import.meta.dirname, "../../../../bin/agent-lsp"));
const dir = mkdtempSync(join(tmpdir(), "agent-lsp-record-"));
const root = join(dir, "net");
const files = {
  "go.mod": "module example.com/net\n\ngo 1.22\n",
  "client.go": `package net

import "time"

// Client keeps one connection to a server and opens it again when it breaks.
type Client struct {
\tconnected chan struct{}
\tretries   int
}

// Reconnect opens the connection again; between attempts it waits by backoff.
func (c *Client) Reconnect(dial func() error) error {
\tfor c.retries = 0; c.retries < 5; c.retries++ {
\t\tif err := dial(); err == nil {
\t\t\tclose(c.connected)
\t\t\treturn nil
\t\t}
\t\ttime.Sleep(backoff(c.retries))
\t}
\treturn ErrGone
}
`,
  "backoff.go": `package net

import (
\t"errors"
\t"time"
)

// ErrGone says that a server could not be reached any more.
var ErrGone = errors.New("server is gone")

// backoff grows with each attempt, up to a second.
func backoff(attempt int) time.Duration {
\treturn min(time.Second, 10*time.Millisecond<<attempt)
}
`,
  "client_test.go": `package net

import "testing"

func TestReconnect(t *testing.T) {
\tc := &Client{connected: make(chan struct{})}
\tif err := c.Reconnect(func() error { return nil }); err != nil {
\t\tt.Fatal(err)
\t}
}
`,
};
for (const [name, text] of Object.entries(files)) {
  mkdirSync(root, { recursive: true });
  writeFileSync(join(root, name), text);
}

const env = { ...process.env, HOME: dir, XDG_STATE_HOME: join(dir, "state"), XDG_CACHE_HOME: join(dir, "cache"), XDG_CONFIG_HOME: join(dir, "config") };
for (const key of ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GROQ_API_KEY"]) {
  delete env[key];
}
const server = spawn(binary, ["serve"], { cwd: root, env, stdio: ["pipe", "pipe", "inherit"] });
const waiting = new Map();
const notifications = [];
const listeners = new Set();
let lastId = 0;
let permission;

function send(message) {
  const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }));
  server.stdin.write(`Content-Length: ${body.length}\r\n\r\n`);
  server.stdin.write(body);
}
const call = (method, params) => new Promise((done, fail) => {
  const id = ++lastId;
  waiting.set(id, { done, fail, method });
  send({ id, method, params });
});

let rest = Buffer.alloc(0);
server.stdout.on("data", (chunk) => {
  rest = Buffer.concat([rest, chunk]);
  for (;;) {
    const end = rest.indexOf("\r\n\r\n");
    const length = end < 0 ? -1 : Number(/content-length: (\d+)/i.exec(rest.subarray(0, end).toString())[1]);
    if (end < 0 || rest.length < end + 4 + length) {
      return;
    }
    take(JSON.parse(rest.subarray(end + 4, end + 4 + length).toString()));
    rest = rest.subarray(end + 4 + length);
  }
});

function take(m) {
  if (m.method === undefined) {
    const w = waiting.get(m.id);
    waiting.delete(m.id);
    return m.error ? w.fail(new Error(`${w.method}: ${m.error.message}`)) : w.done(m.result);
  }
  if (m.id !== undefined) {
    answer(m);
  } else {
    notifications.push({ method: m.method, params: m.params });
    listeners.forEach((fn) => fn(m));
  }
}

function answer(m) {
  if (m.method === "agent/permission") {
    permission = m.params;
    send({ id: m.id, result: { optionId: m.params.options.find((o) => o.kind === "allow_once").id } });
  } else if (m.method === "workspace/configuration") {
    send({ id: m.id, result: m.params.items.map(() => null) });
  } else if (m.method === "workspace/applyEdit") {
    send({ id: m.id, result: { applied: true } });
  } else {
    send({ id: m.id, result: null });
  }
}

const until = (test) => new Promise((done) => {
  const fn = (m) => test(m) && (listeners.delete(fn), done());
  listeners.add(fn);
});
async function ask(input) {
  const turns = [];
  const over = until((m) => {
    if (m.method === "agent/stream" && m.params.isComplete && ["result", "error"].includes(m.params.type)) {
      turns.push(m.params.turnId);
    }
    return turns.includes(turn);
  });
  let turn;
  const r = await call("agent/submit", { input, source: "vscode" });
  turn = r.turnId;
  if (!turns.includes(turn) && !r.response) {
    await over;
  }
  return r;
}

try {
  await call("initialize", { processId: process.pid, rootUri: pathToFileURL(root).href, workspaceFolders: [{ uri: pathToFileURL(root).href, name: "net" }],
    capabilities: { workspace: { applyEdit: true, configuration: false, workspaceEdit: { documentChanges: true } } },
    initializationOptions: { agentLsp: { client: "vscode", protocolVersion: 1, permission: true } } });
  const ready = until((m) => m.method === "agent/index" && m.params.state === "ready");
  send({ method: "initialized", params: {} });
  const tips = call("agent/status", {});
  await ready;
  await tips;
  const welcome = await call("agent/status", {});
  const models = await call("agent/models", {});
  const complete = { slash: await call("agent/complete", { text: "/", offset: 1 }), at: await call("agent/complete", { text: "@cl", offset: 3 }) };
  await ask("How does Reconnect wait between attempts?");
  const first = notifications.length;
  await ask("Run the tests");
  await ask("Rename backoff to retryDelay");
  const load = await call("agent/session/load", {});
  const plan = await call("agent/plan", {});
  const plans = load.cycles.cycles.flatMap((c) => load.cycles.meta.cycles[c.id].plans);
  const at = plans.lastIndexOf(plan.planId);
  const diff = at > 0 ? await call("agent/plan/diff", { a: plans[at - 1], b: plan.planId }) : null;
  const recording = {
    about: "Made by record.mjs from the real server with its built-in model.",
    welcome, models, complete, sessions: await call("agent/session/list", {}), status: await call("agent/status", {}), load, plan, diff, permission, first,
    notifications: notifications.filter((n) => n.method.startsWith("agent/") || n.method.startsWith("loop:")),
  };
  const text = JSON.stringify(recording, null, 1).replaceAll(root, "/home/ada/net").replaceAll(dir, "/home/ada").replace(/"version": "[^"]*"/g, '"version": "0.1.0"');
  writeFileSync(join(import.meta.dirname, "recording.json"), `${text}\n`);
  console.log(`${recording.notifications.length} notifications, ${load.cycles.cycles.length} cycles, ${load.edits.hunks.length} hunks, ${text.length} bytes`);
} finally {
  await Promise.race([call("shutdown").then(() => send({ method: "exit" })), new Promise((r) => setTimeout(r, 3000))]);
  server.kill();
  rmSync(dir, { recursive: true, force: true });
}

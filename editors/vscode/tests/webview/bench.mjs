// How smooth the chat view stays: a tree of 5,000 steps, then 2,000 tokens a second for ten seconds on top of it.
// Printed: frames that came late (requestAnimationFrame deltas), long animation frames and the work of the main thread.
import { cpus, loadavg } from "node:os";

const STEPS = 5000;
const TOKENS_A_SECOND = 2000;
const SECONDS = 10;
const DELTAS_A_SECOND = 30; // as the server coalesces
const FRAME_MS = 1000 / 60;

const WORDS = "the client waits for its callback and then sends what was queued while the connection was gone so nothing is lost ".split(" ");

/** A token of an answer: words, now and then the end of a paragraph, a list, or code. */
function token(i) {
  const at = i % 900;
  if (at === 300) return "\n\n```go\n";
  if (at > 300 && at < 420) return at % 12 === 0 ? "\n\t" : "x := f(a) ";
  if (at === 420) return "\n```\n\n";
  if (at % 90 === 0) return ".\n\n";
  return `${WORDS[i % WORDS.length]} `;
}

function tree() {
  const steps = [{ type: "non-steer", id: "m1", text: "Rework the whole transport" }];
  const calls = {};
  for (let i = 1; i < STEPS; i++) {
    const groups = ["read", "bash", "edit"].slice(0, 1 + (i % 3)).map((tool, j) => ({
      type: { read: "read-group", bash: "bash-group", edit: "write-group" }[tool],
      calls: [{ callId: `c${i}.${j}`, tool, args: { path: `net/file${i}.go`, command: "go test ./net" }, result: { status: i % 50 === 0 && tool === "bash" ? "error" : "ok", text: "FAIL\nnet/x_test.go:1: no\nexit 1\nmore" } }],
    }));
    groups.forEach((g, j) => (calls[g.calls[0].callId] = { title: g.calls[0].tool === "bash" ? "go test ./net" : `net/file${i}.go`, state: "ok", started: "2026-01-01T10:00:00Z", ms: 120 }));
    steps.push({ type: "ai-block", text: { kind: "assistant", id: `o${i}`, text: `Step ${i}: I'll look at the **next** file, then at its \`test\`.` }, groups });
  }
  const meta = { cycles: { m1: { turnId: "t1", runId: "r1", state: "running", model: "m", iter: 1, max: 9000, started: new Date().toISOString(), elapsedMs: 0, contextItems: 1, contextTokens: 1, contextBudget: 1, plans: [], tokens: 1, costUsd: 0, notes: [], unread: [] } }, calls };
  return { rev: 1, sessionId: "s1", branchId: "b1", state: "active", queued: [], anomalies: [], meta, cycles: [{ id: "m1", root: { id: "m1", kind: "direct", text: steps[0].text }, status: "active", steps, rounds: [] }] };
}

const scene = () => ({
  view: "chat",
  greeting: [{ type: "state", state: { server: "ready", sessionId: "s1", branchId: "b1", title: "bench", attached: [], settings: { enterWhileRunning: "steer", glyphs: "unicode" } } }],
  answers: { "agent/session/load": { sessionId: "s1", branchId: "b1", title: "bench", branches: [], cycles: tree(), edits: { hunks: [] } }, "agent/session/list": { sessions: [] }, "agent/models": { models: [] }, "agent/queue": { paused: false, queued: [] } },
});

/** Runs in the page: sends the deltas on a clock, and watches every frame. */
async function stream({ words, perDelta, deltas, everyMs, first }) {
  const long = [];
  const watcher = new PerformanceObserver((list) => long.push(...list.getEntries().map((e) => e.duration)));
  try {
    watcher.observe({ type: "long-animation-frame" });
  } catch {
    watcher.observe({ type: "longtask" });
  }
  const frames = [];
  let running = true;
  let last = performance.now();
  requestAnimationFrame(function frame(now) {
    frames.push(now - last);
    last = now;
    if (running) requestAnimationFrame(frame);
  });
  const tell = (ops, rev) => window.tell({ type: "notification", method: "agent/cycle", params: { sessionId: "s1", branchId: "b1", cycleId: "m1", rev, ops } });
  let rev = 2;
  tell([{ op: "step", cycle: "m1", step: first, type: "ai-block", kind: "assistant", id: "end", text: "" }], rev++);
  const begin = performance.now();
  for (let d = 0; d < deltas; d++) {
    const wait = begin + d * everyMs - performance.now();
    if (wait > 0) await new Promise((r) => setTimeout(r, wait));
    tell([{ op: "text", cycle: "m1", step: first, text: words.slice(d * perDelta, (d + 1) * perDelta).join("") }], rev++);
  }
  const took = performance.now() - begin;
  await new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r)));
  running = false;
  watcher.disconnect();
  const shown = document.querySelector(".row.full:last-of-type .markdown, .step:last-child .markdown")?.textContent.length ?? 0;
  const s = document.querySelector(".scroller");
  return { frames: frames.slice(1), long, took, shown, rows: document.querySelectorAll(".row").length, atTheEnd: s.scrollHeight - s.scrollTop - s.clientHeight < 30 };
}

const share = (list, p) => list.toSorted((a, b) => a - b)[Math.min(list.length - 1, Math.floor(list.length * p))] ?? 0;
const ms = (n) => `${n.toFixed(1)} ms`;

function told(name, frames) {
  // a frame that takes longer than one and a half of its time has let others fall
  const dropped = frames.reduce((sum, f) => sum + Math.max(0, Math.round(f / FRAME_MS) - 1), 0);
  const all = frames.length + dropped;
  console.log(`${name}: ${frames.length} frames, ${dropped} dropped (${((100 * dropped) / all).toFixed(1)} %), p50 ${ms(share(frames, 0.5))}, p95 ${ms(share(frames, 0.95))}, p99 ${ms(share(frames, 0.99))}, worst ${ms(Math.max(...frames))}`);
  return dropped / all;
}

/** Scrolls up from the end, so many pixels a frame. */
async function scroll(pixels) {
  const s = document.querySelector(".scroller");
  s.scrollTop = s.scrollHeight;
  const frames = [];
  let last = performance.now();
  for (let i = 0; i <= 180; i++) {
    s.scrollTop -= pixels;
    await new Promise((r) => requestAnimationFrame((now) => (frames.push(now - last), (last = now), r())));
  }
  return { frames: frames.slice(1), rows: document.querySelectorAll(".row").length };
}

export async function bench(harness) {
  console.log(`${cpus().length} cores, load ${loadavg()[0].toFixed(1)}: what other processes take shows as late frames`);
  const page = await harness.open(scene(), { scale: 1 }); // without a GPU every pixel costs the CPU
  const open = await page.evaluate(() => new Promise((done) => {
    const seen = () => (document.querySelector(".row.calls") ? requestAnimationFrame(() => done(performance.now())) : setTimeout(seen, 4));
    seen();
  }));
  console.log(`a tree of ${STEPS} steps is on the screen ${ms(open)} after the page began`);
  const quiet = await page.evaluate(() => new Promise((done) => {
    const frames = [];
    let last = performance.now();
    requestAnimationFrame(function frame(now) {
      frames.push(now - last);
      last = now;
      frames.length < 180 ? requestAnimationFrame(frame) : done(frames.slice(1));
    });
  }));
  told("at rest (the browser's own)", quiet);
  const perDelta = Math.round(TOKENS_A_SECOND / DELTAS_A_SECOND);
  const deltas = DELTAS_A_SECOND * SECONDS;
  const words = Array.from({ length: perDelta * deltas }, (_, i) => token(i));
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("Performance.enable", { timeDomain: "threadTicks" }); // its own time, not what other processes took
  const busy = async () => (await cdp.send("Performance.getMetrics")).metrics.find((m) => m.name === "TaskDuration").value;
  const before = await busy();
  const r = await page.evaluate(stream, { words, perDelta, deltas, everyMs: 1000 / DELTAS_A_SECOND, first: STEPS });
  const worked = (await busy()) - before;
  const dropped = told(`${words.length} tokens in ${(r.took / 1000).toFixed(1)} s (${Math.round((words.length * 1000) / r.took)} a second)`, r.frames);
  console.log(`  long animation frames (over 50 ms): ${r.long.length}${r.long.length ? `, worst ${ms(Math.max(...r.long))}` : ""}; main thread's own work ${((100 * worked) / (r.took / 1000)).toFixed(0)} % of the time, ${ms((1000 * worked) / r.frames.length)} a frame; ${r.rows} rows in the page; at the end: ${r.atTheEnd}; ${r.shown} characters shown`);
  for (const [pixels, name] of [[100, "with the wheel"], [800, "a view's height a frame"]]) {
    const begin = await busy();
    const s = await page.evaluate(scroll, pixels);
    told(`scrolling ${name}, ${pixels} px a frame`, s.frames);
    console.log(`  ${s.rows} rows in the page; main thread's own work ${ms((1000 * ((await busy()) - begin)) / s.frames.length)} a frame`);
  }
  await page.context().close();
  return { dropped, atTheEnd: r.atTheEnd, long: r.long.length };
}

// What a person does with the views, and what the views then say and show. One function a test.
import assert from "node:assert/strict";
import { answer, context, MARKDOWN, permission, recorded, recording, state, story, welcome, workflow } from "./scenes.mjs";

/** Opens a scene, waits for it, runs the test, and holds that nothing was broken or refused by the page's policy. */
const on = (scene, ready, fn, options) => async (harness) => {
  const page = await harness.open(typeof scene === "function" ? scene() : scene, options);
  try {
    await page.waitForSelector(ready);
    await fn(page);
    assert.deepEqual([...page.faults, ...(await page.evaluate(() => window.faults))], []);
  } finally {
    await page.context().close();
  }
};
const last = async (page, type) => (await page.said(type)).at(-1);
const settled = (page) => page.evaluate(() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r))));
const delta = (rev, ops, meta) => ({ type: "notification", method: "agent/cycle", params: { sessionId: "s1", branchId: "b1", cycleId: "m1", rev, ops, ...(meta && { meta }) } });
const idle = (load) => Object.assign(load.cycles, { state: "idle", queued: [] });
const over = () => story((load, cycle) => { idle(load); cycle.status = "completed"; });
const submitted = async (page) => (await page.said("request")).filter((m) => m.method === "agent/submit").at(-1)?.params;
/** All rows, opened where they can be, as text. */
const rows = (page) => page.evaluate(() => [...document.querySelectorAll(".tree .row")].map((r) => `${r.getAttribute("aria-level")} ${r.innerText.replace(/\s+/g, " ").trim()}`));

export const tests = {
  "the welcome offers three things, and one is written into the prompt": on(welcome, ".tip", async (page) => {
    assert.equal(await page.locator(".tip").count(), 3);
    await page.click(".tip >> nth=1");
    assert.equal(await page.inputValue("textarea"), "Who calls Reconnect?");
    assert.equal((await page.said("request")).some((m) => m.method === "agent/submit"), false);
  }),

  "without a server the view says what to do": on(() => ({ ...welcome(), greeting: [state({ server: "down" })] }), ".welcome p", async (page) => {
    await page.click("text=Show its log");
    assert.equal((await last(page, "command")).command, "agentLsp.showLog");
    assert.equal((await page.said("request")).length, 0);
  }),

  "in ASCII there is nothing else": on(() => ({ ...story(), greeting: [state({ settings: { enterWhileRunning: "steer", glyphs: "ascii" } })] }), ".row.calls", async (page) => {
    const signs = await page.evaluate(() => [...document.querySelectorAll(".glyph")].map((el) => el.textContent).join(""));
    assert.match(signs, /^[\x20-\x7e]+$/);
  }),

  "the tree is a tree for who can't see it": on(story, ".row.calls", async (page) => {
    const bad = await page.evaluate(() => {
      const out = [];
      for (const b of document.querySelectorAll("button, textarea, input")) {
        if (!(b.getAttribute("aria-label") || b.textContent.trim())) out.push(b.outerHTML);
      }
      for (const r of document.querySelectorAll(".tree .row")) {
        if (r.getAttribute("role") !== "treeitem" || !r.getAttribute("aria-level")) out.push(r.outerHTML);
        if (r.dataset.open !== undefined && r.getAttribute("aria-expanded") !== r.dataset.open) out.push(`expanded: ${r.outerHTML}`);
      }
      if (document.querySelectorAll('.tree .row[tabindex="0"]').length !== 1) out.push("Tab must reach one row");
      return out;
    });
    assert.deepEqual(bad, []);
  }),

  "what the server said bit by bit looks as what it says at once": async (harness) => {
    const live = await harness.open({ view: "chat", greeting: [state({ sessionId: undefined, branchId: undefined, status: recording.status })], answers: { "agent/session/list": { sessions: [] }, "agent/models": recording.models, "agent/queue": { paused: false, queued: [] } } });
    await live.waitForSelector(".tip");
    const { sessionId, branchId } = recording.load;
    // the first delta finds a view that knows no session; from then on the server would answer with the empty beginning
    await live.evaluate(({ sessionId, branchId, rev }) => { window.answersLater({ "agent/session/load": { sessionId, branchId, title: "", branches: [], edits: { hunks: [] }, cycles: { rev, sessionId, branchId, state: "idle", cycles: [], queued: [], anomalies: [], meta: { cycles: {}, calls: {} } } } }); }, { sessionId, branchId, rev: recording.notifications.find((n) => n.method === "agent/cycle").params.rev - 1 });
    for (const n of recording.notifications) {
      await live.tell({ type: "notification", ...n });
      await settled(live);
    }
    const loaded = await harness.open(recorded());
    for (let i = 0; i < recording.load.cycles.cycles.length - 1; i++) {
      await loaded.click(`.row.root >> nth=${i}`);
    }
    await settled(live);
    await settled(loaded);
    const [a, b] = [await rows(live), await rows(loaded)];
    assert.ok(a.length > 20, String(a.length));
    assert.deepEqual(a, b);
    assert.deepEqual(live.faults, []);
    await live.context().close();
    await loaded.context().close();
  },

  "a hole in the deltas asks for the whole": on(story, ".row.calls", async (page) => {
    const loads = async () => (await page.said("request")).filter((m) => m.method === "agent/session/load").length;
    const before = await loads();
    await page.tell(delta(8, [{ op: "text", cycle: "m1", step: 5, text: " Yes." }]));
    await settled(page);
    assert.equal(await loads(), before);
    await page.tell(delta(12, [{ op: "text", cycle: "m1", step: 5, text: "lost" }]));
    await page.waitForFunction((n) => window.said.filter((m) => m.method === "agent/session/load").length > n, before);
  }),

  "streamed text grows in place and keeps the focus": on(() => story((load, cycle) => { cycle.steps.splice(5); }), ".row.calls", async (page) => {
    const key = '.row[data-key="m1/4/0/0"]';
    await page.focus(key);
    await page.tell(delta(8, [{ op: "step", cycle: "m1", step: 5, type: "ai-block", kind: "assistant", id: "o4", text: "One **bold" }]));
    for (const [i, text] of ["** word.\n\n", "Two.\n\n```go\nx := 1\n", "y := 2\n```\n\nThr", "ee."].entries()) {
      await page.tell(delta(9 + i, [{ op: "text", cycle: "m1", step: 5, text }]));
      await settled(page);
    }
    await page.waitForFunction(() => document.querySelector(".row.full .markdown")?.innerText.includes("Three."));
    assert.match(await page.innerHTML(".row.full .markdown"), /<strong>bold<\/strong>[\s\S]*<pre[\s\S]*hljs-number[\s\S]*Three\./);
    await page.tell(delta(13, [{ op: "result", cycle: "m1", step: 4, group: 0, call: 0, status: "ok", text: "" }]));
    await settled(page);
    assert.equal(await page.evaluate(() => document.activeElement.dataset.key), "m1/4/0/0");
    await page.tell(delta(14, [{ op: "status", cycle: "m1", status: "completed" }]));
    await settled(page);
    assert.match(await page.innerText(".row.full .markdown"), /One bold word\.\s+Two\.[\s\S]*Three\./);
  }),

  "the view follows the end only while the person is there": on(answer, "canvas", async (page) => {
    const rest = () => page.evaluate(() => { const s = document.querySelector(".scroller"); return s.scrollHeight - s.scrollTop - s.clientHeight; });
    await settled(page);
    assert.ok((await rest()) < 5);
    await page.mouse.move(200, 300);
    await page.mouse.wheel(0, -400);
    await page.waitForSelector(".down:not([hidden])");
    const was = await page.evaluate(() => document.querySelector(".scroller").scrollTop);
    await page.tell(delta(8, [{ op: "cycle", cycle: "m2", kind: "direct", text: "more" }, { op: "step", cycle: "m2", step: 1, type: "ai-block", kind: "assistant", id: "z", text: "line\n\n".repeat(50) }]));
    await settled(page);
    assert.ok(Math.abs((await page.evaluate(() => document.querySelector(".scroller").scrollTop)) - was) < 3);
    await page.click(".stage > .down");
    await settled(page);
    assert.ok((await rest()) < 5);
  }),

  "Enter sends, and empties the prompt": on(over, ".row.calls", async (page) => {
    await page.fill("textarea", "why?");
    await page.press("textarea", "Enter");
    assert.deepEqual(await submitted(page), { input: "why?", delivery: "auto", source: "vscode" });
    await page.waitForFunction(() => document.querySelector("textarea").value === "");
    await page.press("textarea", "ArrowUp");
    assert.equal(await page.inputValue("textarea"), "only the client side, please");
  }),

  "a refused message is kept and the reason shown": on(() => ({ ...over(), answers: { ...over().answers, "agent/submit": undefined } }), ".row.calls", async (page) => {
    await page.fill("textarea", "why?");
    await page.press("textarea", "Enter");
    await page.waitForSelector(".line.fault:not([hidden])");
    assert.equal(await page.inputValue("textarea"), "why?");
  }),

  "Enter while the server starts counts; typing on takes it back": on(() => ({ ...over(), greeting: [state({ server: "starting" })] }), ".welcome p", async (page) => {
    await page.fill("textarea", "why?");
    await page.press("textarea", "Enter");
    assert.equal(await page.innerText(".prompt .hint"), "sent when the server is ready");
    assert.equal(await submitted(page), undefined);
    await page.keyboard.type(" and how?");
    assert.equal(await page.innerText(".prompt .hint"), "");
    await page.press("textarea", "Enter");
    await page.tell(state());
    await page.waitForFunction(() => window.said.some((m) => m.method === "agent/submit"));
    assert.deepEqual(await submitted(page), { input: "why? and how?", delivery: "auto", source: "vscode" });
    assert.equal(await page.inputValue("textarea"), "");
  }),

  "who types fast loses nothing: the next message waits for the one on its way": on(() => ({ ...over(), answers: { ...over().answers, "agent/submit": "held" } }), ".row.calls", async (page) => {
    const inputs = async () => (await page.said("request")).filter((m) => m.method === "agent/submit").map((m) => m.params.input);
    await page.focus("textarea");
    await page.keyboard.type("first");
    await page.keyboard.press("Enter");
    await page.keyboard.type("second");
    await page.keyboard.press("Enter");
    await page.keyboard.press("Enter");
    assert.deepEqual(await inputs(), ["first"]);
    assert.equal(await page.inputValue("textarea"), "second");
    await page.evaluate(() => window.release({ result: { sessionId: "s1", branchId: "b1", kind: "direct" } }));
    await page.waitForFunction(() => document.querySelector("textarea").value === "");
    assert.deepEqual(await inputs(), ["first", "second"]);
    await page.keyboard.type("third");
    await page.evaluate(() => window.release({ error: { message: "not now", code: "busy" } }));
    await page.waitForSelector(".line.fault:not([hidden])");
    assert.equal(await page.inputValue("textarea"), "second\nthird");
  }),

  "while it runs Enter steers and Alt+Enter queues": on(story, ".row.calls", async (page) => {
    await page.fill("textarea", "a");
    await page.press("textarea", "Enter");
    assert.equal((await submitted(page)).delivery, "steer");
    await page.waitForFunction(() => document.querySelector("textarea").value === "");
    await page.fill("textarea", "b");
    await page.press("textarea", "Alt+Enter");
    assert.equal((await submitted(page)).delivery, "followUp");
    await page.waitForFunction(() => document.querySelector("textarea").value === "");
    await page.fill("textarea", "line");
    await page.press("textarea", "Shift+Enter");
    assert.equal(await page.inputValue("textarea"), "line\n");
  }),

  "Enter and Alt+Enter can be swapped": on(() => ({ ...story(), greeting: [state({ settings: { enterWhileRunning: "followUp", glyphs: "unicode" } })] }), ".row.calls", async (page) => {
    await page.fill("textarea", "a");
    await page.press("textarea", "Enter");
    assert.equal((await submitted(page)).delivery, "followUp");
  }),

  "stop and send waits for the run's end": on(story, ".row.calls", async (page) => {
    await page.fill("textarea", "no, this");
    await page.click(".send-menu");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    assert.deepEqual(await last(page, "control"), { type: "control", command: "cancel", runId: "run-1" });
    assert.equal(await submitted(page), undefined);
    await page.tell(delta(8, [{ op: "status", cycle: "m1", status: "interrupted" }]));
    await page.waitForFunction(() => window.said.some((m) => m.method === "agent/submit"));
    assert.deepEqual(await submitted(page), { input: "no, this", delivery: "auto", source: "vscode" });
  }),

  "pause, resume, cancel, escalate": on(story, ".row.calls", async (page) => {
    await page.click("text=Pause");
    assert.equal((await last(page, "control")).command, "pause");
    await page.tell({ type: "notification", method: "loop:current", params: { schema: 1, event: "STATE", run_id: "run-1", stack: [{ id: "x", paused: true }] } });
    await page.click("text=Resume");
    assert.equal((await last(page, "control")).command, "resume");
    await page.click("text=Escalate");
    assert.equal((await last(page, "command")).command, "agentLsp.escalate");
    await page.click(".dock >> text=Cancel");
    assert.equal((await last(page, "control")).command, "cancel");
  }),

  "an interrupted run is offered again": on(() => story((load, cycle) => { idle(load); cycle.status = "interrupted"; load.run = { runId: "run-1", state: "interrupted", resumable: true, iter: 5, max: 40 }; }), ".row.calls", async (page) => {
    await page.click("text=Take up again");
    assert.deepEqual(await last(page, "control"), { type: "control", command: "resume", runId: "run-1" });
  }),

  "a steer that was never read is offered again": on(() => story((load, cycle, meta) => { idle(load); cycle.status = "completed"; meta.cycles.m1.unread = ["m2"]; }), ".row.calls", async (page) => {
    await page.click("text=send again");
    assert.equal((await submitted(page)).input, "only the client side, please");
  }),

  "a question is announced, and answered by its key": on(story, ".row.calls", async (page) => {
    await page.tell(permission());
    await page.waitForSelector(".card:focus");
    assert.match(await page.innerText('[aria-live="assertive"]'), /Action required: bash wants to run rm -rf build/);
    await page.keyboard.press("y"); // at once: typed for something else
    assert.equal((await page.said("permission")).length, 0);
    await page.waitForTimeout(400); // the guard is a time
    await page.keyboard.press("y");
    assert.deepEqual(await last(page, "permission"), { type: "permission", id: "q1", optionId: "o1" });
    await page.waitForSelector(".card", { state: "detached" });
  }),

  "a question never takes the keys of who is writing": on(story, ".row.calls", async (page) => {
    await page.focus("textarea");
    await page.tell(permission());
    await page.waitForSelector(".card");
    await page.keyboard.type("yes");
    assert.equal(await page.inputValue("textarea"), "yes");
    assert.equal((await page.said("permission")).length, 0);
  }),

  "no, because": on({ ...story(), greeting: [state(), permission({ destructive: true })] }, ".card", async (page) => {
    assert.equal(await page.locator(".card .main").count(), 0); // nothing destructive is the button that one hits by habit
    await page.click(".card >> text=no, because");
    await page.keyboard.type("keep it");
    await page.keyboard.press("Enter");
    assert.deepEqual(await last(page, "permission"), { type: "permission", id: "q1", optionId: "o3", reason: "keep it" });
  }),

  "a question that was answered elsewhere goes": on({ ...story(), greeting: [state(), permission()] }, ".card", async (page) => {
    await page.tell({ type: "permissionDone", id: "q1" });
    await page.waitForSelector(".card", { state: "detached" });
  }),

  "the queue is edited, moved and removed from": on(story, ".queued", async (page) => {
    const asked = async () => { const m = (await page.said("request")).filter((x) => x.method.startsWith("agent/queue/")).at(-1); return [m.method, m.params]; };
    await page.click('[aria-label^="Move down 1"]');
    assert.deepEqual(await asked(), ["agent/queue/move", { id: "m3", to: 1 }]);
    await page.click('[aria-label^="Remove 2"]');
    assert.deepEqual(await asked(), ["agent/queue/remove", { id: "m4" }]);
    await page.click('[aria-label^="Edit 1"]');
    await page.keyboard.press("Control+A");
    await page.keyboard.type("run it all");
    await page.keyboard.press("Enter");
    assert.deepEqual(await asked(), ["agent/queue/edit", { id: "m3", input: "run it all" }]);
  }),

  "hunks to review: all at once or one by one": on(story, ".line.review:not([hidden])", async (page) => {
    assert.match(await page.innerText(".line.review"), /3 hunks in 2 files/);
    await page.click(".line.review >> text=Accept all");
    assert.equal((await last(page, "command")).command, "agentLsp.acceptAll");
    await page.tell({ type: "notification", method: "agent/edits/changed", params: { sessionId: "s1", uris: ["file:///home/ada/net/reconnect_test.go", "file:///home/ada/net/client.go"], hunks: [], pending: 0 } });
    await page.waitForSelector(".line.review", { state: "hidden" });
    assert.equal(await page.locator("text=to review").count(), 0);
  }),

  "the route, the message's chips, the workflow and the subtasks are told as in every face": on(() => workflow(), ".row.workflow", async (page) => {
    assert.deepEqual((await rows(page)).filter((r) => !/^2 ◇|^1 /.test(r)), [
      "2 ⇢ route READ, SEARCH, WRITE · #code named them #code @dial.go",
      "2 ✎ Two questions first.",
      "3 · task 2 who calls dial · where are timeouts set 1 running",
      "4 ✓ who calls dial 2 steps · 2 calls · 8.7k tok · $0.03 · 2.1 s",
      "4 · where are timeouts set step 1 of 12 · 1 call · 3.9k tok · $0.01",
      "5 grep timeout",
      "2 ⇣ compaction: 3 items of 8.1k tokens left the context for a summary of 340 ref:history-1",
      "2 ≡ workflow 1 of 4 steps done, 1 skipped",
      "3 ✓ 1 fix @dial.go",
      "3 – 2 tidy up skipped: no file was changed",
      "3 · 3 run the tests try 2 · iteration 2 of 12",
      "3 ○ 4 report",
    ]);
    await page.click(".row.workflow");
    assert.equal(await page.locator(".row.workflow-step").count(), 0);
    await page.click('.row.subtask >> nth=0');
    assert.equal((await rows(page)).filter((r) => r === "5 grep dial" || r === "5 read net/dial.go").length, 2);
  }),

  "a proposed workflow is approved, once it is the latest": on(() => ({ ...workflow("proposed"), answers: { ...workflow("proposed").answers, "agent/workflow/approve": { sessionId: "s1", branchId: "b1", kind: "direct" } } }), ".row.workflow", async (page) => {
    assert.match(await page.innerText(".row.workflow"), /4 steps proposed, nothing is done yet/);
    await page.click("text=approve");
    assert.deepEqual((await page.said("request")).find((m) => m.method === "agent/workflow/approve").params, { turnId: "t1" });
    await page.tell(delta(8, [{ op: "cycle", cycle: "m2", kind: "direct", text: "do it" }]));
    await settled(page);
    assert.equal(await page.locator("text=approve").count(), 0);
  }),

  "keys walk the tree": on(story, ".row.calls", async (page) => {
    const at = () => page.evaluate(() => document.activeElement.dataset.key);
    await page.focus('.row[tabindex="0"]');
    await page.keyboard.press("Home");
    assert.equal(await at(), "m1");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    assert.equal(await at(), "m1/1");
    await page.keyboard.press("ArrowRight");
    assert.equal(await page.getAttribute('.row[data-key="m1/1"]', "aria-expanded"), "true");
    assert.equal(await at(), "m1/1");
    await page.keyboard.press("ArrowLeft");
    assert.equal(await page.getAttribute('.row[data-key="m1/1"]', "aria-expanded"), "false");
    await page.keyboard.press("ArrowLeft");
    assert.equal(await at(), "m1");
    await page.keyboard.press("Enter");
    assert.equal(await page.locator(".row").count(), 1);
  }),

  "the whole of an archived result opens in an editor": on(() => ({ ...story(), answers: { ...story().answers, "agent/scratchpad": { ref: "run-17/4", text: "all of it", offset: 0, total: 9, lines: 1 } } }), ".quote", async (page) => {
    await page.click(".quote >> text=open");
    await page.waitForFunction(() => window.said.some((m) => m.type === "openText"));
    assert.deepEqual(await last(page, "openText"), { type: "openText", title: "go test ./net -run Reconnect", text: "all of it" });
  }),

  "completions are chosen by key, and Enter then sends": on(over, ".row.calls", async (page) => {
    await page.focus("textarea");
    await page.keyboard.type("/");
    await page.waitForSelector(".completions li");
    await page.keyboard.press("ArrowDown");
    const chosen = await page.innerText('.completions li[aria-selected="true"] .label');
    assert.ok(await page.getAttribute("textarea", "aria-activedescendant"));
    await page.keyboard.press("Tab");
    assert.equal((await page.inputValue("textarea")).trim(), chosen.split(" ")[0]);
    await page.keyboard.press("Enter");
    assert.equal((await submitted(page)).input.trim(), chosen.split(" ")[0]);
  }),

  "a draft outlives the view": on({ ...over(), kept: { draft: "half a thought" } }, ".row.calls", async (page) => {
    assert.equal(await page.inputValue("textarea"), "half a thought");
  }),

  "places, links and code do what they say": on(answer, "canvas", async (page) => {
    await page.click('a[data-path="net/client.go:41"]');
    assert.deepEqual(await last(page, "openPath"), { type: "openPath", path: "net/client.go", line: 41 });
    await page.hover(".code");
    await page.click(".code >> text=copy");
    assert.match((await last(page, "copy")).text, /^\/\/ the callback closes the channel\nfunc/);
    await page.click(".code >> text=insert");
    assert.equal((await last(page, "insert")).text, (await last(page, "copy")).text);
    assert.equal(await page.locator("figure details table tbody tr").count(), 2);
  }),

  "a picture is shown large, and Escape returns": on(answer, "canvas", async (page) => {
    await page.waitForFunction(() => document.querySelector("img.picture")?.complete);
    await page.focus("img.picture");
    await page.keyboard.press("Enter");
    await page.waitForSelector("dialog[open] img");
    await page.keyboard.press("Escape");
    await page.waitForSelector("dialog", { state: "detached" });
    assert.equal(await page.evaluate(() => document.activeElement.className), "picture");
  }),

  "charts are loaded with the first chart only": async (harness) => {
    const loaded = async (scene, ready) => {
      const page = await harness.open(scene);
      await page.waitForSelector(ready);
      const scripts = await page.evaluate(() => [...document.scripts].map((s) => s.src.split("/").at(-1)));
      await page.context().close();
      return scripts.includes("charts.js");
    };
    assert.equal(await loaded(story(), ".row.calls"), false);
    assert.equal(await loaded(answer(), "canvas"), true);
  },

  "what the agent writes can do nothing": on(() => story((load, cycle) => {
    idle(load);
    cycle.status = "completed";
    cycle.root.text = "<img src=x onerror=window.hit=1>";
    cycle.steps.push({ type: "ai-block", text: { kind: "assistant", id: "h", text: `<script>window.hit=1</script> <img src=x onerror=window.hit=1> [x](javascript:window.hit=1) ${MARKDOWN}` }, groups: [] });
  }), ".row.full", async (page) => {
    await settled(page);
    assert.equal(await page.evaluate(() => window.hit), undefined);
    assert.equal(await page.locator('.tree script, .tree img:not(.picture), .tree a[href]:not([href="#"])').count(), 0);
  }),

  "of a tree of 5,000 steps only what is near is in the page": on(() => story((load, cycle) => {
    for (let i = cycle.steps.length; i < 5000; i++) {
      cycle.steps.push({ type: "ai-block", text: { kind: "assistant", id: `n${i}`, text: `Step ${i}` }, groups: [{ type: "read-group", calls: [{ callId: `k${i}`, tool: "read", args: { path: "a.go" }, result: { status: "ok", text: "x" } }] }] });
    }
  }), ".row.calls", async (page) => {
    await page.waitForFunction(() => document.body.innerText.includes("Step 4999"));
    assert.ok((await page.locator(".row").count()) < 400);
    await page.focus('.row[tabindex="0"]');
    await page.keyboard.press("Home");
    await page.waitForFunction(() => document.body.innerText.includes("I'll look at how"));
    assert.ok((await page.locator(".row").count()) < 400);
  }),

  "a session is chosen, and a new one begun": on(() => ({ ...story(), answers: { ...story().answers, "agent/session/new": { sessionId: "s9", branchId: "b9" } } }), ".row.calls", async (page) => {
    await page.click(".sessions");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    assert.deepEqual(await last(page, "switch"), { type: "switch", sessionId: "s2", branchId: "b1" });
    await page.click('[aria-label="New session"]');
    await page.waitForFunction(() => window.said.some((m) => m.sessionId === "s9"));
  }),

  "the context view: pin, exclude, neither, open": on(() => context(), ".plan-row", async (page) => {
    const asked = async () => { const m = (await page.said("request")).filter((x) => /pin$/.test(x.method)).at(-1); return [m?.method, m?.params]; };
    await page.focus(".plan-row");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("p");
    await page.waitForSelector(".mark");
    assert.deepEqual(await asked(), ["agent/pin", { messageId: recording.plan.included[1].id }]);
    assert.match(await page.innerText(".said"), /is pinned, from the next call on/);
    await page.keyboard.press("x");
    await page.waitForFunction(() => document.querySelector(".mark")?.textContent.includes("excluded"));
    assert.equal((await asked())[1].exclude, true);
    await page.keyboard.press("u");
    await page.waitForFunction(() => window.said.some((m) => m.method === "agent/unpin"));
    const at = recording.plan.included.findIndex((i) => recording.plan.labels[i.id].uri);
    await page.click(`.plan-row >> nth=${at} >> a`);
    assert.equal((await last(page, "open")).uri, recording.plan.labels[recording.plan.included[at].id].uri);
  }),

  "the context view: filter and compare": on(() => context(), ".plan-row", async (page) => {
    assert.match(await page.innerText(".title"), /identical on replay ✓/);
    const all = await page.locator(".plan-row").count();
    assert.equal(all, recording.plan.included.length + recording.plan.excluded.length);
    await page.keyboard.press("f");
    await page.keyboard.type("out retrieval");
    const some = await page.locator(".plan-row").count();
    assert.ok(some < all);
    assert.equal(await page.locator(".plan-row.in").count(), 0);
    await page.keyboard.press("Escape");
    assert.equal(await page.locator(".plan-row").count(), all);
    await page.keyboard.press("d");
    await page.waitForSelector("h3");
    const diff = (await page.said("request")).find((m) => m.method === "agent/plan/diff");
    assert.equal(diff.params.b, recording.plan.planId);
    await page.keyboard.press("d");
    await page.waitForSelector("h3", { state: "detached" });
  }),
};

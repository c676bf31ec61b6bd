// Pictures of every view in the light and the dark theme: node tests/webview/pictures.mjs FOLDER
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { Harness } from "./harness.mjs";
import { answer, context, permission, recorded, state, story, welcome, workflow } from "./scenes.mjs";

const folder = process.argv[2] ?? "pictures";
mkdirSync(folder, { recursive: true });
const only = process.argv[3];

const pictures = {
  welcome: [welcome(), ".tip"],
  running: [story(), ".row.calls"],
  narrow: [story(), ".row.calls", undefined, { width: 280 }],
  paused: [story((l, c, m) => { m.cycles.m1.state = "paused"; }), ".words.paused"],
  failed: [story((l, c, m) => { c.status = "error"; Object.assign(m.cycles.m1, { ended: "x", elapsedMs: 9000, stop: "the model's provider failed: 401", unread: ["m2"] }); l.cycles.state = "idle"; }), ".ending"],
  interrupted: [story((l, c, m) => { c.status = "interrupted"; Object.assign(m.cycles.m1, { ended: "x", elapsedMs: 9000 }); l.cycles.state = "idle"; l.run = { runId: "run-1", state: "interrupted", resumable: true, iter: 5, max: 40 }; }), ".ending"],
  workflow: [workflow(), ".row.workflow"],
  opened: [story(), ".row.calls", async (p) => { for (const key of ["m1/1", "m1/2/0/0", "m1/2/0/0/c1"]) { await p.click(`.row[data-key="${key}"] > .glyph`); } }],
  permission: [{ ...story(), greeting: [state(), permission()] }, ".card"],
  destructive: [{ ...story(), greeting: [state(), permission({ destructive: true, diff: "--- a/x.go\n+++ b/x.go\n-old line\n+new line\n" })] }, ".card"],
  answer: [answer(), "canvas", async (p) => p.waitForFunction(() => document.querySelector("img.picture")?.complete), { height: 1150 }],
  completion: [story(), ".row.calls", async (p) => { await p.fill("textarea", ""); await p.type("textarea", "/"); await p.waitForSelector(".completions li"); }],
  menu: [story(), ".row.calls", async (p) => { await p.fill("textarea", "and say why"); await p.click(".send-menu"); }],
  sessions: [story(), ".row.calls", async (p) => { await p.click(".sessions"); }],
  attached: [{ ...story(), greeting: [state({ attached: [{ label: "client.go:10-24", uri: "file:///x" }] })] }, ".chip"],
  recorded: [recorded(), ".row.root"],
  context: [context(), ".plan-row"],
  "context-focus": [context(), ".plan-row", async (p) => { await p.keyboard.press("ArrowDown"); await p.keyboard.press("ArrowDown"); await p.keyboard.press("p"); }],
  "context-diff": [context(), ".plan-row", async (p) => { await p.keyboard.press("d"); await p.waitForSelector("h3"); }],
  "context-narrow": [context(), ".plan-row", undefined, { width: 430 }],
};

const harness = await Harness.start();
try {
  for (const [name, [scene, ready, act, size]] of Object.entries(pictures)) {
    if (only && !name.includes(only)) {
      continue;
    }
    for (const theme of ["dark", "light", ...(["running", "context", "permission"].includes(name) ? ["contrast"] : [])]) {
      const page = await harness.open(scene, { theme, ...size });
      await page.waitForSelector(ready);
      await act?.(page);
      await page.screenshot({ path: join(folder, `${name}-${theme}.png`) });
      for (const fault of page.faults) {
        console.log(`${name}: ${fault}`);
      }
      await page.context().close();
    }
  }
} finally {
  await harness.stop();
}

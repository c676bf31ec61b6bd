/** Ask, watch, accept: the main story, offline, with the built-in model. */
import assert from "node:assert/strict";
import { cpSync, readFileSync, writeFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, describe, it } from "node:test";
import { failure } from "../failure.ts";
import { drag, picture } from "../pictures.ts";
import { greeting } from "../projects.ts";
import { EXTENSION, Workbench, type Window } from "../workbench.ts";
import { askServer } from "../lsp.ts";
import { acceptFirst, ask, over, threeHunks } from "./story.ts";

const BROKEN_MS = 5000; // what works takes a fifth of it

describe("review", () => {
  const bench = new Workbench();
  let w: Window;
  before(async () => {
    await bench.start();
    w = await bench.open(bench.project(greeting));
  });
  afterEach((t) => failure(bench, t));
  after(() => bench.stop());

  it("starts no server before it is wanted", async () => {
    await w.status("agent ○").waitFor();
    assert.equal(bench.servers(), 0);
    assert.equal(await w.page.locator(".notification-toast").count(), 0);
  });

  it("answers a question with places, and the tree grows", async () => {
    await w.file("greet.go");
    const turn = await ask(w, "where is an empty name replaced?", true);
    await over(turn);
    await turn.getByText(/context/).first().waitFor();
    await turn.getByText(/greet\.go:1\d/).first().waitFor();
    await w.status("agent ○").waitFor();
    await drag(w, "vertical", { x: 350, y: 450 }, { x: 520, y: 450 });
    await picture(w, "chat");
  });

  it("shows three hunks where they are, once each", async () => {
    await threeHunks(w);
    const words = await w.lenses.allTextContents();
    assert.equal(words.filter((t) => t.includes("Accept")).length, 3);
    assert.equal(words.filter((t) => t.includes("Reject")).length, 3);
    assert.match(await w.text(), /tidy makes a name fit for a greeting/);
    // deleted text stands behind its replacement: it is drawn, not typed
    const drawn = await w.editor.locator(".view-line span").evaluateAll((all) => all.map((s) => getComputedStyle(s, "::after").content).filter((c) => c.includes("clean")));
    assert.equal(drawn.length, 4);
    await w.page.locator(".pane-header", { hasText: "3 hunks in 1 file" }).waitFor();
    await picture(w, "review");
  });

  it("opens a hunk in place, with its deleted lines", async () => {
    await w.focusEditor();
    await w.command("Agent: Next Hunk");
    await w.status("Ln 8").waitFor();
    await w.page.keyboard.press("Alt+d");
    const peek = w.page.locator(".peekview-widget");
    await peek.getByText("1 of 3 changes").waitFor();
    await picture(w, "peek");
    await w.page.keyboard.press("Escape");
    await peek.waitFor({ state: "detached" });
  });

  it("accepts one by the words above it, rejects one by key, accepts the rest", async () => {
    await acceptFirst(w);
    await w.focusEditor();
    await w.page.keyboard.press("Control+End");
    await w.status("Ln 23").waitFor();
    await w.page.keyboard.press("Shift+Alt+j"); // the last hunk
    await w.status("Ln 21").waitFor();
    await w.page.keyboard.press("Alt+x");
    await w.status("agent ⧗ 1 hunk").waitFor();
    await w.until("the rejected lines are as before", async () => (await w.text()).includes("return Hello(clean(name)) + Hello(clean(name))"));
    await w.command("Agent: Accept All Hunks");
    await w.status("agent ○").waitFor();
    await w.lenses.first().waitFor({ state: "detached" });
    const want = greeting["greet.go"]!
      .replace('"Hello, %s!", clean(name)', '"Hello, %s!", tidy(name)').replace("// clean makes", "// tidy makes").replace("func clean(", "func tidy(");
    await w.page.keyboard.press("Control+S");
    await w.until("the file on disk is what was accepted", () => w.disk("greet.go") === want);
  });

  it("undoes the rejection in one step, and then the edit", async () => {
    await w.focusEditor();
    await w.page.keyboard.press("Control+Z");
    await w.until("the rejection is undone", async () => (await w.text()).includes("return Hello(tidy(name)) + Hello(tidy(name))"));
    await w.page.keyboard.press("Control+Z");
    await w.until("the whole edit is undone", async () => (await w.text()).trimEnd() === greeting["greet.go"]!.replaceAll("\t", "    ").trimEnd());
    await w.page.keyboard.press("Control+Y");
    await w.page.keyboard.press("Control+Y");
    await w.page.keyboard.press("Control+S");
  });

  it("shows the plan that the server reports", async () => {
    await w.command("Agent: Show Context");
    const context = await w.view("Agent context");
    const plan = (await askServer(w.folder, bench.environment, "agent/plan", {})) as {
      planId: string; included: { id: string; tokens: number }[]; excluded: unknown[]; labels: Record<string, { label: string }>;
    };
    const id = plan.planId.replace(/^plan[-_:]/, "").slice(0, 7);
    await context.getByText(id).first().waitFor();
    const text = (await context.locator("#root").innerText()).replaceAll(/[\u2009\u202f\u00a0]/g, " ");
    for (const item of plan.included) {
      const label = plan.labels[item.id]!.label.split("\n")[0]!;
      assert.ok(text.includes(label.slice(0, 24)), `the view lacks the item ${label}`);
    }
    await drag(w, "horizontal", { x: 900, y: 575 }, { x: 900, y: 330 });
    await picture(w, "context");
  });
});

describe("control: a broken accept is noticed", () => {
  const broken = mkdtempSync(join(tmpdir(), "broken-"));
  const bench = new Workbench({ development: broken });
  before(async () => {
    cpSync(EXTENSION, broken, { recursive: true, filter: (f) => !f.includes("node_modules") });
    const bundle = join(broken, "dist/extension.js");
    const text = readFileSync(bundle, "utf8");
    const harmed = text.replace('"agent/edits/resolve", params', '"agent/edits", params');
    assert.notEqual(harmed, text);
    writeFileSync(bundle, harmed);
    await bench.start();
  });
  afterEach((t) => failure(bench, t));
  after(async () => {
    await bench.stop();
    rmSync(broken, { recursive: true, force: true });
  });

  it("the same steps fail", async () => {
    const w = await bench.open(bench.project(greeting));
    await threeHunks(w);
    w.page.setDefaultTimeout(BROKEN_MS);
    await assert.rejects(acceptFirst(w), /Timeout|never true/);
  });
});

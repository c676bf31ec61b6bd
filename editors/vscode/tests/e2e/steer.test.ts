/** Intervening: permissions, pause, reload, resume, cancel; a server that dies, one that isn't there, a folder nobody trusts. */
import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import type { Locator } from "playwright-core";
import { failure } from "../failure.ts";
import { drag, picture } from "../pictures.ts";
import { greeting } from "../projects.ts";
import { Workbench, type Window } from "../workbench.ts";
import { ask, chatOf, over, threeHunks } from "./story.ts";

const COMMAND_MS = 120_000; // for the project's own tests, built from nothing

const buttons = (note: Locator) => note.locator(".monaco-button:not(.monaco-dropdown-button)").evaluateAll((all) => all.map((b) => b.textContent));

describe("steer", () => {
  const bench = new Workbench();
  let w: Window;
  before(async () => {
    await bench.start();
    w = await bench.open(bench.project(greeting));
  });
  afterEach((t) => failure(bench, t));
  after(() => bench.stop());

  it("a command asks, in the view and by a notification; the card's answer counts", async () => {
    await w.file("greet.go");
    const turn = await ask(w, "run the tests", true);
    await w.status("agent ⧗ asks you").waitFor();
    const note = await w.notification("bash wants to run: go test");
    assert.deepEqual(await buttons(note), ["Allow", "Always allow bash(go test *)", "Reject"]);
    await w.hideNotifications();
    const chat = await w.view("Agent");
    await chat.getByText("go test ./...").first().waitFor();
    await drag(w, "vertical", { x: 350, y: 450 }, { x: 520, y: 450 });
    await picture(w, "permission");
    await chat.locator(".cards button", { hasText: /no$/ }).first().click();
    await over(turn);
    await w.status("agent ○").waitFor();
    await turn.getByText("refused").first().waitFor();
  });

  it("the notification's answer counts as well", async () => {
    const turn = await ask(w, "run the tests");
    await w.status("agent ⧗ asks you").waitFor();
    await (await w.notification("bash wants to run: go test")).locator(".monaco-button", { hasText: /^Allow$/ }).click();
    await over(turn, "completed", COMMAND_MS);
    await w.status("agent ○").waitFor();
    assert.equal(await (await chatOf(w)).locator(".cards button").count(), 0);
  });

  it("paused, the window reloaded, resumed, finished", async () => {
    await ask(w, "run the tests");
    await w.status("agent ⧗ asks you").waitFor();
    await w.command("Agent: Pause");
    await w.status("agent ⏸ paused").waitFor();
    await w.reload();
    await w.status("agent ⏸ paused").waitFor();
    const chat = await chatOf(w);
    await chat.getByText("paused before step").first().waitFor();
    const turns = chat.locator(".cycle[data-status]");
    assert.deepEqual(await turns.evaluateAll((all) => all.map((t) => (t as HTMLElement).dataset["status"])), ["completed", "completed", "active"]);
    await picture(w, "paused");
    await w.command("Agent: Resume");
    await over(turns.nth(2));
    await w.status("agent ○").waitFor();
    await turns.nth(2).getByText("before the person answered; the call was not made").first().waitFor(); // a window that goes answers nothing
  });

  it("cancel stops at once and takes the question back", async () => {
    const turn = await ask(w, "run the tests");
    await w.status("agent ⧗ asks you").waitFor();
    await w.command("Agent: Cancel");
    await over(turn, "interrupted");
    await w.status("agent ○").waitFor();
    await turn.getByText("interrupted").first().waitFor();
    assert.equal(await (await chatOf(w)).locator(".cards button").count(), 0);
  });

  it("a server that dies is started again, and the hunks are there still", async () => {
    await threeHunks(w);
    await bench.killServer(w);
    await w.command("Agent: Reject All Hunks"); // at once: what the new server knows counts, not what is drawn still
    await w.until("what the new server has is rejected", async () => /func clean\(name string\)/.test(await w.text()));
    await w.status("agent ○").waitFor();
    await w.lenses.first().waitFor({ state: "detached" });
  });
});

describe("without a server", () => {
  const bench = new Workbench({ machine: { "agentLsp.server.path": "/nowhere/agent-lsp" } });
  before(() => bench.start());
  afterEach((t) => failure(bench, t));
  after(() => bench.stop());

  it("says so once, with one button that leads on", async () => {
    const w = await bench.open(bench.project(greeting));
    await w.command("Agent: Ask");
    await w.status("agent ⚠ no server").waitFor();
    const note = await w.notification("there is no program agent-lsp (looked at: agentLsp.server.path: /nowhere/agent-lsp)");
    assert.deepEqual(await buttons(note), ["Show How"]);
    await note.locator(".monaco-button").click();
    await w.page.getByText("Get Started with the Agent").first().waitFor();
  });
});

describe("a folder that nobody trusts", () => {
  const bench = new Workbench({ trust: true, settings: { "security.workspace.trust.startupPrompt": "never", "security.workspace.trust.banner": "never", "agentLsp.server.start": "always" } });
  before(() => bench.start());
  afterEach((t) => failure(bench, t));
  after(() => bench.stop());

  it("has no server until it is trusted", async () => {
    const w = await bench.open(bench.project(greeting));
    await w.status("agent ○ restricted").waitFor();
    assert.equal(bench.servers(), 0);
    await w.command("Workspaces: Manage Workspace Trust");
    await w.page.locator(".workspace-trust-editor .monaco-button", { hasText: /^Trust$/ }).first().click();
    await w.until("the server runs", () => bench.servers() === 1);
    await w.status(/^agent ○$/).waitFor();
  });
});

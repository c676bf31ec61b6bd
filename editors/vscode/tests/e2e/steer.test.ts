/** Intervening: permissions, pause, reload, resume, cancel; a server that dies, one that isn't there, a folder nobody trusts. */
import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import type { Locator } from "playwright-core";
import { failure } from "../failure.ts";
import { drag, picture } from "../pictures.ts";
import { greeting } from "../projects.ts";
import { Workbench, type Window } from "../workbench.ts";
import { threeHunks } from "./story.ts";

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

  const ask = async (text: string) => {
    await w.command("Agent: Ask");
    const prompt = (await w.view("Agent")).locator("textarea");
    await prompt.fill(text);
    await prompt.press("Enter");
  };

  it("a command asks, in the view and by a notification; the card's answer counts", async () => {
    await w.file("greet.go");
    await ask("run the tests");
    await w.status("agent ⧗ asks you").waitFor();
    const note = await w.notification("bash wants to run: go test");
    assert.deepEqual(await buttons(note), ["Allow", "Always allow bash(go test *)", "Reject"]);
    await w.hideNotifications();
    const chat = await w.view("Agent");
    await chat.getByText("go test ./...").first().waitFor();
    await drag(w, "vertical", { x: 350, y: 450 }, { x: 520, y: 450 });
    await picture(w, "permission");
    await chat.locator(".cards button", { hasText: /no$/ }).first().click();
    await w.status("agent ○").waitFor();
    await chat.getByText("refused").first().waitFor();
  });

  it("the notification's answer counts as well", async () => {
    await ask("run the tests");
    await w.status("agent ⧗ asks you").waitFor();
    await (await w.notification("bash wants to run: go test")).locator(".monaco-button", { hasText: /^Allow$/ }).click();
    await w.status("agent ○").waitFor({ timeout: COMMAND_MS });
    const chat = await w.view("Agent");
    assert.equal(await chat.locator(".cards button").count(), 0);
  });

  it("paused, the window reloaded, resumed, finished", async () => {
    await ask("run the tests");
    await w.status("agent ⧗ asks you").waitFor();
    await w.command("Agent: Pause");
    await w.status("agent ⏸ paused").waitFor();
    await w.reload();
    await w.status("agent ⏸ paused").waitFor();
    let chat = await w.view("Agent");
    await chat.getByText("paused before step").first().waitFor();
    assert.ok((await chat.getByText("run the tests", { exact: true }).count()) >= 3, "the turns before are there too");
    await picture(w, "paused");
    await w.command("Agent: Resume");
    await w.until("the run has ended, or asks again", async () => {
      const button = (await w.view("Agent")).locator(".cards button.main");
      if (await button.isVisible()) {
        await button.click().catch(() => undefined);
      }
      return w.status("agent ○").isVisible();
    }, COMMAND_MS);
    chat = await w.view("Agent");
    await chat.getByText(/go test/).last().waitFor();
  });

  it("cancel stops at once and takes the question back", async () => {
    await ask("run the tests");
    await w.status("agent ⧗ asks you").waitFor();
    await w.command("Agent: Cancel");
    await w.status("agent ○").waitFor();
    const chat = await w.view("Agent");
    await chat.getByText("interrupted").first().waitFor();
    assert.equal(await chat.locator(".cards button").count(), 0);
  });

  it("a server that dies is started again, and the hunks are there still", async () => {
    await threeHunks(w);
    assert.equal(bench.servers(), 1);
    bench.killServers();
    await w.status("agent ⧗ 3 hunks").waitFor({ state: "hidden" });
    await w.status("agent ⧗ 3 hunks").waitFor();
    await w.lenses.filter({ hasText: "hunk 3 of 3" }).waitFor();
    await w.command("Agent: Reject All Hunks");
    await w.status("agent ○").waitFor();
    assert.match(await w.text(), /func clean\(name string\)/);
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

/** Second thoughts: what is taken back, held back or in conflict; branches; what is looked back at. */
import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { failure } from "../failure.ts";
import { greeting } from "../projects.ts";
import { Workbench, type Window } from "../workbench.ts";
import { ask, chatOf, over, threeHunks } from "./story.ts";

const TIDY = greeting["greet.go"]!.replaceAll("clean", "tidy");
const shown = (text: string) => text.replaceAll("\t", "    ").trimEnd();

describe("recover", () => {
  const bench = new Workbench();
  let w: Window;
  before(async () => {
    await bench.start();
    w = await bench.open(bench.project(greeting));
  });
  afterEach((t) => failure(bench, t));
  after(() => bench.stop());

  const reads = (what: string, text: string) => w.until(what, async () => (await w.text()).trimEnd() === shown(text));

  it("the last reject is undone: its hunks and their text are there again", async () => {
    await threeHunks(w);
    await w.command("Agent: Reject All Hunks");
    await reads("all is as before", greeting["greet.go"]!);
    await w.status("agent ○").waitFor();
    await w.command("Agent: Undo the Latest Reject");
    await w.status("agent ⧗ 3 hunks").waitFor();
    await reads("the agent's text is there again", TIDY);
    await w.lenses.filter({ hasText: "hunk 3 of 3" }).waitFor();
  });

  it("a turn is put back by choice, with what would change said before", async () => {
    await w.command("Agent: Accept All Hunks");
    await w.status("agent ○").waitFor();
    await w.command("Agent: Undo the Latest Turn…");
    const rows = w.page.locator(".quick-input-list .monaco-list-row");
    await rows.filter({ hasText: /greet\.go \(\+\d+ −\d+\)/ }).waitFor();
    await rows.filter({ hasText: "the conversation from before its last 1 turn" }).waitFor();
    await rows.filter({ hasText: "Files and conversation" }).waitFor();
    await w.page.keyboard.press("Enter"); // the first: files
    await reads("the file is put back", greeting["greet.go"]!);
    const note = await w.notification("put back greet.go");
    await note.locator(".monaco-button", { hasText: "Bring It Again" }).click();
    await reads("it is there again", TIDY);
  });

  it("a conflict shows both texts beside the person's, and a warning in the list", async () => {
    await w.command("Agent: Undo the Latest Turn…");
    await w.page.locator(".quick-input-list .monaco-list-row").filter({ hasText: "Files and conversation" }).waitFor();
    await w.page.keyboard.press("Enter");
    await reads("the file is put back", greeting["greet.go"]!);
    await threeHunks(w);
    await w.page.keyboard.press("Control+Home");
    await w.status("Ln 1,").waitFor();
    await w.page.keyboard.press("Alt+j");
    await w.status("Ln 8").waitFor();
    await w.page.keyboard.press("End");
    await w.page.keyboard.insertText(" // mine");
    await w.command("Agent: Reject Hunk");
    const comment = w.page.locator(".review-widget");
    await comment.getByText("Conflict: you changed these lines too. Yours are in the file.").waitFor();
    await comment.getByText("Before the agent").waitFor();
    await comment.getByText("From the agent").waitFor();
    await w.lenses.filter({ hasText: "conflict: you changed these lines too" }).waitFor();
    assert.match(await w.text(), /\/\/ mine/);
    await w.command("Agent: Accept All Hunks");
    await comment.first().waitFor({ state: "detached" });
    await w.status("agent ○").waitFor();
  });

  it("a branch is forked, compared, adopted", async () => {
    await w.command("Agent: Ask");
    const chat = await chatOf(w);
    const turns = chat.locator(".cycle[data-status]");
    const before = await turns.count();
    await w.command("Agent: Fork a Branch Here");
    await w.answer("aside");
    await chat.locator("header .title", { hasText: "aside" }).waitFor();
    await over(await ask(w, "rename the function Twice to Double everywhere"));
    assert.equal(await turns.count(), before + 1);
    await w.status("agent ○").waitFor();
    await w.command("Agent: Compare With the Current Branch");
    await w.fill("main", "main");
    const page = await w.preview("and aside", "aside and main");
    await page.getByText("rename the function Twice to Double everywhere").first().waitFor();
    assert.match(w.disk("greet.go"), /func Twice/); // a branch has a working copy of its own
    await w.command("Agent: Adopt the Branch's Edits");
    await w.fill("aside", "aside");
    await w.notification("to review now: 1 file of the branch");
    await w.status(/agent ⧗ \d hunk/).waitFor();
    await w.hideNotifications();
  });

  it("the trace of the latest turn is a page", async () => {
    await w.command("Agent: Show Trace");
    const page = await w.preview("Trace of");
    await page.getByText(/Tool calls \(\d+\)/).waitFor();
    await page.getByText(/Model calls \(\d+\)/).waitFor();
  });
});

describe("nothing is written until it is accepted", () => {
  const bench = new Workbench({ settings: { "agentLsp.edits": "ask" } });
  before(() => bench.start());
  afterEach((t) => failure(bench, t));
  after(() => bench.stop());

  it("held hunks: accepted one by one, compared with the file as it is", async () => {
    const w = await bench.open(bench.project(greeting));
    await threeHunks(w);
    await w.lenses.filter({ hasText: "not written until accepted" }).first().waitFor();
    assert.doesNotMatch(await w.text(), /tidy/);
    await w.lenses.filter({ hasText: "hunk 1 of 3" }).click();
    await w.page.locator(".tab.active", { hasText: "as it is ↔ as the agent proposes" }).waitFor();
    await w.page.locator(".monaco-diff-editor .modified .line-insert").first().waitFor();
    await w.file("greet.go");
    await w.lenses.filter({ hasText: "Accept" }).first().click();
    await w.status("agent ⧗ 2 hunks").waitFor();
    await w.until("the accepted hunk is written, and no other", async () => ((await w.text()).match(/tidy/g) ?? []).length === 1);
    await w.command("Agent: Reject All Hunks");
    await w.status("agent ○").waitFor();
    assert.equal(((await w.text()).match(/tidy/g) ?? []).length, 1);
  });
});

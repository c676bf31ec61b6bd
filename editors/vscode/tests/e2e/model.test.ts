/** The story with a real inference server: asked, accepted, paused, reloaded, resumed, escalated, finished. */
import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { failure } from "../failure.ts";
import { SCRIPTS, startModel, type Model } from "../model.ts";
import { greeting } from "../projects.ts";
import { Workbench, type Window } from "../workbench.ts";
import { ask, chatOf, over } from "./story.ts";

const NOTES = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n";

describe("with llama-server", () => {
  let bench: Workbench;
  let model: Model;
  let w: Window;
  before(async () => {
    model = await startModel(SCRIPTS);
    bench = await new Workbench({
      settings: {
        "agentLsp.providers": { local: { base_url: model.baseURL } },
        "agentLsp.models": { [`local/${model.name}`]: { context_window: 32768 } },
        "agentLsp.aliases": { other: `local/${model.name}` },
        "agentLsp.model": `local/${model.name}`,
      },
    }).start();
    w = await bench.open(bench.project({ ...greeting, "notes.md": NOTES }));
  });
  afterEach((t) => failure(bench, t));
  after(async () => {
    await bench?.stop();
    await model?.stop();
  });

  it("an edit is three hunks: one accepted by the words above it, one rejected by key, the rest accepted", async () => {
    await w.file("notes.md");
    const turn = await ask(w, "edit notes.md: make three of its lines louder [[script:three-hunks]]");
    await over(turn);
    await w.status("agent ⧗ 3 hunks").waitFor();
    await turn.getByText("All three are louder now.").first().waitFor();
    await w.lenses.filter({ hasText: "Accept" }).first().click();
    await w.status("agent ⧗ 2 hunks").waitFor();
    await w.focusEditor();
    await w.page.keyboard.press("Control+Home");
    await w.status("Ln 1,").waitFor();
    await w.page.keyboard.press("Alt+j");
    await w.status("Ln 5").waitFor();
    await w.page.keyboard.press("Alt+x");
    await w.status("agent ⧗ 1 hunk").waitFor();
    await w.command("Agent: Accept All Hunks");
    await w.status("agent ○").waitFor();
    await w.focusEditor();
    await w.page.keyboard.press("Control+S");
    const want = NOTES.replace("two", "TWO").replace("eight", "EIGHT");
    await w.until("the file on disk is what was accepted", () => w.disk("notes.md") === want);
  });

  it("paused in the middle, the window reloaded, resumed, finished", async () => {
    await model.faults("always delay:60ms");
    const before = w.said.length;
    await ask(w, "read it line by line [[script:many-reads]]");
    await w.until("some steps are done", () => w.said.slice(before).some((s) => /agent ● [3-9]\/40/.test(s)));
    await w.command("Agent: Pause");
    await w.status("agent ⏸ paused").waitFor();
    await w.reload();
    await w.status("agent ⏸ paused").waitFor();
    const chat = await chatOf(w);
    await chat.getByText("paused before step").first().waitFor();
    await w.command("Agent: Escalate to Another Model…");
    await w.fill(model.name, `local/${model.name}`);
    await model.faults("");
    await w.command("Agent: Resume");
    const turn = chat.locator(".cycle[data-status]").nth(1);
    await over(turn);
    await w.status("agent ○").waitFor();
    await turn.getByText("I have read twenty-one lines.").first().waitFor();
    assert.equal(await turn.getByText("interrupted").count(), 0);
  });
});

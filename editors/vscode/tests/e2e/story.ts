/** What a person does in every suite; the control runs it against an extension that is broken on purpose. */
import type { Frame, Locator } from "playwright-core";
import type { Window } from "../workbench.ts";

export const RENAME = "rename the function clean to tidy everywhere";

/** The chat view, once it shows what the server has. */
export async function chatOf(w: Window): Promise<Frame> {
  const chat = await w.view("Agent");
  await chat.locator(".tree[aria-busy=false]").waitFor({ state: "attached" });
  return chat;
}

/** Asks in the chat view, by keyboard; the first question of all as soon as there is a prompt. Gives the turn that comes of it. */
export async function ask(w: Window, text: string, first = false): Promise<Locator> {
  await w.command("Agent: Ask");
  const chat = first ? await w.view("Agent") : await chatOf(w);
  await chat.locator(".prompt textarea:focus").waitFor();
  const turns = chat.locator(".cycle[data-status]");
  const before = first ? 0 : await turns.count();
  await w.page.keyboard.insertText(text);
  await w.page.keyboard.press("Enter");
  const turn = turns.nth(before);
  await turn.waitFor();
  return turn;
}

/** Waits until a turn is over, as it should be: the status bar may still show what was before it. */
export async function over(turn: Locator, status: "completed" | "interrupted" = "completed", ms?: number): Promise<void> {
  await turn.locator(`xpath=self::*[@data-status="${status}"]`).waitFor({ timeout: ms });
}

/** Asks by the prompt at the cursor, and waits for the three hunks. */
export async function threeHunks(w: Window): Promise<void> {
  await w.file("greet.go");
  await w.focusEditor();
  await w.page.keyboard.press("Alt+I");
  await w.answer(RENAME);
  await w.status("agent ⧗ 3 hunks").waitFor();
  await w.lenses.filter({ hasText: "hunk 3 of 3" }).waitFor();
}

/** Accepts the first hunk by the word above it. */
export async function acceptFirst(w: Window): Promise<void> {
  await w.lenses.filter({ hasText: "Accept" }).first().click();
  await w.status("agent ⧗ 2 hunks").waitFor();
  await w.until("the first hunk stays", async () => /return fmt\.Sprintf\("Hello, %s!", tidy\(name\)\)/.test(await w.text()));
}

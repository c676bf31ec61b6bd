/** What a person does with hunks; the control runs it against an extension that is broken on purpose. */
import assert from "node:assert/strict";
import type { Window } from "../workbench.ts";

export const RENAME = "rename the function clean to tidy everywhere";

/** Asks by the prompt at the cursor, and waits for the three hunks. */
export async function threeHunks(w: Window): Promise<void> {
  await w.file("greet.go");
  await w.page.locator(".tab.active").click();
  await w.page.keyboard.press("Alt+I");
  await w.answer(RENAME);
  await w.status("agent ⧗ 3 hunks").waitFor();
  await w.lenses.filter({ hasText: "hunk 3 of 3" }).waitFor();
}

/** Accepts the first hunk by the word above it. */
export async function acceptFirst(w: Window): Promise<void> {
  await w.lenses.filter({ hasText: "Accept" }).first().click();
  await w.status("agent ⧗ 2 hunks").waitFor();
  assert.match(await w.text(), /return fmt\.Sprintf\("Hello, %s!", tidy\(name\)\)/);
}

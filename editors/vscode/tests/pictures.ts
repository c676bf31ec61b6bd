/** Pictures for the README: taken when the screen shows what it must, so each is a test too. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { EXTENSION, type Window } from "./workbench.ts";

const IMAGES = join(EXTENSION, "images");

/** Only on demand: two runs of a picture differ by a cursor's blink, and tests leave the tree clean. */
export const PICTURES = process.env["PICTURES"] === "1";

/** The same screen in a dark and in a light theme. */
export async function picture(w: Window, name: string): Promise<void> {
  if (!PICTURES) {
    return;
  }
  mkdirSync(IMAGES, { recursive: true });
  for (const theme of ["dark", "light"] as const) {
    await w.theme(theme);
    await w.page.mouse.move(w.page.viewportSize()!.width - 2, w.page.viewportSize()!.height - 2);
    await w.page.locator(".monaco-hover:visible, .workbench-hover-container:visible").first().waitFor({ state: "hidden" }).catch(() => undefined);
    await w.page.screenshot({ path: join(IMAGES, `${name}-${theme}.png`), animations: "disabled", caret: "hide" });
  }
  await w.theme("dark");
}

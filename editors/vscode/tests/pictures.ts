/** Pictures for the README: taken when the screen shows what it must, so each is a test too. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { EXTENSION, type Window } from "./workbench.ts";

const IMAGES = join(EXTENSION, "images");

/** Only on demand: two runs of a picture differ by a cursor's blink, and tests leave the tree clean. */
export const PICTURES = process.env["PICTURES"] === "1";

/** Drags a border of the workbench: pictures show a view as wide or high as a person would have it. */
export async function drag(w: Window, sash: "vertical" | "horizontal", at: { x: number; y: number }, to: { x: number; y: number }): Promise<void> {
  if (!PICTURES) {
    return;
  }
  const found = await w.page.locator(`.monaco-sash.${sash}:not(.disabled)`).evaluateAll((all, p) => {
    const boxes = all.map((e) => e.getBoundingClientRect()).filter((b) => b.width > 0 && b.height > 0);
    const far = (b: DOMRect) => Math.hypot(Math.max(b.left - p.x, 0, p.x - b.right), Math.max(b.top - p.y, 0, p.y - b.bottom));
    const b = boxes.sort((x, y) => far(x) - far(y))[0]!;
    return { x: b.left + b.width / 2, y: b.top + b.height / 2 };
  }, at);
  await w.page.mouse.move(found.x, found.y);
  await w.page.mouse.down();
  await w.page.mouse.move((found.x + to.x) / 2, (found.y + to.y) / 2);
  await w.page.mouse.move(to.x, to.y);
  await w.page.mouse.up();
}

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

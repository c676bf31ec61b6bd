/** Mocha inside of the extension host. */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { greeting } from "../projects.ts";
import { EXTENSION, Workbench } from "../workbench.ts";

describe("inside of the extension host", () => {
  const dir = mkdtempSync(join(tmpdir(), "inside-"));
  const report = join(dir, "report.txt");
  const bench = new Workbench({ env: { AGENT_LSP_INSIDE: report } });
  before(() => bench.start());
  after(async () => {
    await bench.stop();
    rmSync(dir, { recursive: true });
  });

  it("mocha passes", async () => {
    const code = await bench.inside(bench.project(greeting), join(EXTENSION, "dist/inside.js")).catch((e: unknown) => e);
    const text = existsSync(report) ? readFileSync(report, "utf8") : "nothing was reported";
    console.log(text);
    assert.equal(code, 0);
    assert.match(text, /\d\d passing/);
  });
});

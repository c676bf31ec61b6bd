/** Runs mocha inside of the extension host. AGENT_LSP_INSIDE names the file for the report. */
import { writeFileSync } from "node:fs";
import { format } from "node:util";
import Mocha from "mocha";

const TEST_MS = 30_000;

export async function run(): Promise<void> {
  const lines: string[] = [];
  Mocha.reporters.Base.consoleLog = (...args: unknown[]) => void lines.push(format(...args));
  const mocha = new Mocha({ ui: "tdd", reporter: "spec", color: false, timeout: TEST_MS });
  mocha.suite.emit("pre-require", globalThis, "", mocha);
  await import("./manifest");
  await import("./server");
  await import("./control");
  await import("./hunks");
  await import("./editor");
  const failures = await new Promise<number>((done) => mocha.run(done));
  const file = process.env["AGENT_LSP_INSIDE"];
  if (file) {
    writeFileSync(file, lines.join("\n") + "\n");
  }
  if (failures > 0) {
    throw new Error(`${failures} tests failed`);
  }
}

// Runs the tests of what is pure: bundles each *.test.ts into a temporary folder and gives them to node's test runner.
import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const here = import.meta.dirname;
const out = mkdtempSync(join(tmpdir(), "agent-lsp-pure-"));
try {
  const tests = readdirSync(here).filter((f) => f.endsWith(".test.ts"));
  await build({
    entryPoints: tests.map((f) => join(here, f)), outdir: out, outExtension: { ".js": ".mjs" }, bundle: true, platform: "node", format: "esm", target: "es2022",
    logLevel: "warning", define: { EXTENSION: JSON.stringify(join(here, "../..")) },
  });
  const files = tests.map((f) => join(out, f.replace(/\.ts$/, ".mjs")));
  process.exitCode = spawnSync(process.execPath, ["--test", ...files], { stdio: "inherit" }).status ?? 1;
} finally {
  rmSync(out, { recursive: true, force: true });
}

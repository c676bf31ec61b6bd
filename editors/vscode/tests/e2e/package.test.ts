/** The package: made, installed from the command line, used as a person has it. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, describe, it } from "node:test";
import { failure } from "../failure.ts";
import { greeting } from "../projects.ts";
import { EXTENSION, SERVER, Workbench } from "../workbench.ts";
import { acceptFirst, threeHunks } from "./story.ts";

const BYTES_MAX = 4 << 20; // of the package, pictures included

describe("package", () => {
  const dir = mkdtempSync(join(tmpdir(), "vsix-"));
  const vsix = join(dir, "agent-lsp.vsix");
  const extensions = join(dir, "extensions");
  const env = { ...process.env, HOME: dir, TMPDIR: dir };
  const bench = new Workbench({ extensions });
  const run = (script: string, ...args: string[]) => execFileSync(process.execPath, [script, ...args], { cwd: EXTENSION, env, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  afterEach((t) => failure(bench, t));
  after(async () => {
    await bench.stop();
    rmSync(dir, { recursive: true });
  });

  it("is made without complaint, and small", () => {
    run(join(EXTENSION, "esbuild.mjs"), "--minify");
    const said = run(join(EXTENSION, "node_modules/@vscode/vsce/vsce"), "package", "--no-dependencies", "-o", vsix);
    assert.doesNotMatch(said, /WARNING|ERROR/);
    assert.ok(statSync(vsix).size < BYTES_MAX, `${statSync(vsix).size} bytes`);
  });

  it("installs from the command line", () => {
    const said = run(SERVER, "--install-extension", vsix, "--extensions-dir", extensions, "--server-data-dir", join(dir, "data"), "--accept-server-license-terms");
    assert.match(said, /was successfully installed/);
    const [name] = readdirSync(extensions).filter((f) => f.startsWith("agent-lsp."));
    const files = readdirSync(join(extensions, name!, "dist"));
    assert.deepEqual(files.filter((f) => /extension\.js|chat\.(js|css)|context\.(js|css)/.test(f)).sort(), ["chat.css", "chat.js", "context.css", "context.js", "extension.js"]);
    assert.deepEqual(files.filter((f) => /inside|\.map$/.test(f)), []);
  });

  it("works when installed", async () => {
    await bench.start();
    const w = await bench.open(bench.project(greeting));
    await threeHunks(w);
    await acceptFirst(w);
    await w.command("Agent: Ask");
    await (await w.view("Agent")).getByText("rename the function clean").first().waitFor();
  });
});

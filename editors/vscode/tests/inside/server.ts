import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findServer } from "../../src/server";

suite("finding the server", () => {
  let dir: string;
  const program = (path: string, mode = 0o755) => {
    mkdirSync(join(path, ".."), { recursive: true });
    writeFileSync(path, "#!/bin/sh\n");
    chmodSync(path, mode);
    return path;
  };
  setup(() => {
    dir = mkdtempSync(join(tmpdir(), "find-"));
  });
  teardown(() => rmSync(dir, { recursive: true }));

  test("the setting wins, and nothing stands in for it", () => {
    const named = program(join(dir, "mine/agent"));
    const onPath = program(join(dir, "bin/agent-lsp"));
    assert.equal(findServer(named, dir, join(dir, "bin")).path, named);
    const missing = findServer(join(dir, "nowhere"), dir, join(dir, "bin"));
    assert.equal(missing.path, undefined);
    assert.match(missing.looked[0]!, /server\.path/);
    assert.ok(onPath);
  });

  test("PATH, then the checkout; never a relative folder of PATH, never what can't run", () => {
    const extension = join(dir, "checkout/editors/vscode");
    const built = program(join(dir, "checkout/bin/agent-lsp"));
    program(join(dir, "dead/agent-lsp"), 0o644);
    assert.equal(findServer("", extension, `${join(dir, "dead")}:bin:.`).path, built);
    const onPath = program(join(dir, "bin/agent-lsp"));
    assert.equal(findServer("", extension, `${join(dir, "dead")}:${join(dir, "bin")}`).path, onPath);
    const nothing = findServer("", join(dir, "elsewhere/a/b"), "");
    assert.equal(nothing.path, undefined);
    assert.equal(nothing.looked.length, 2);
  });

  test("a setting that is relative to nothing is not taken", () => {
    assert.equal(findServer("agent-lsp", dir, "").path, undefined);
  });
});

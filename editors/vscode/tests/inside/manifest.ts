import assert from "node:assert/strict";
import * as vscode from "vscode";
import { SERVER_SETTINGS, serverSettings } from "../../src/settings";

const extension = vscode.extensions.getExtension("agent-lsp.agent-lsp")!;
const manifest = extension.packageJSON as {
  contributes: {
    commands: { command: string; title: string }[];
    keybindings: { command: string; key: string; mac: string; when: string }[];
    configuration: { properties: Record<string, { default?: unknown }> }[];
  };
};

/** What other programs and people's key bindings rely on. */
const CONTRACT = [
  "ask", "askInline", "acceptHunk", "rejectHunk", "acceptFile", "rejectFile", "acceptAll", "rejectAll", "nextHunk", "previousHunk", "review", "pause", "resume",
  "cancel", "escalate", "showContext", "showTrace", "undoTurn", "model",
];

suite("manifest", () => {
  suiteSetup(() => extension.activate());

  test("every command of the contract is there, and every command has a title and a handler", async () => {
    const known = new Set(await vscode.commands.getCommands(true));
    const declared = manifest.contributes.commands;
    for (const name of CONTRACT) {
      assert.ok(declared.some((c) => c.command === `agentLsp.${name}`), `${name} is not declared`);
    }
    for (const c of declared) {
      assert.match(c.title, /^Agent: [A-Z]/, c.command);
      assert.ok(known.has(c.command), `${c.command} has no handler`);
    }
  });

  test("no key of ours is one of the editor's own", async () => {
    const document = await vscode.workspace.openTextDocument(vscode.Uri.parse("vscode://defaultsettings/keybindings.json"));
    const stock = [...document.getText().matchAll(/"key": "([^"]+)",\s*"command": "([^"]+)"/g)].map((m) => ({ key: m[1]!, command: m[2]! }));
    assert.ok(stock.length > 300, `only ${stock.length} keys were read`);
    const theirs = stock.filter((s) => !s.command.startsWith("agentLsp."));
    for (const k of manifest.contributes.keybindings) {
      const same = theirs.filter((s) => s.key.split("+").sort().join("+") === k.key.split("+").sort().join("+"));
      assert.deepEqual(same, [], `${k.key} of ${k.command}`);
      assert.match(k.when, /agentLsp\./, `${k.key} works outside of our own contexts`);
    }
  });

  test("settings are the server's, by their names", () => {
    const declared = Object.assign({}, ...manifest.contributes.configuration.map((c) => c.properties)) as Record<string, { default?: unknown }>;
    for (const name of SERVER_SETTINGS) {
      assert.ok(`agentLsp.${name}` in declared, `agentLsp.${name} is not declared`);
    }
    for (const name of Object.keys(declared)) {
      assert.match(name, /^agentLsp\./);
    }
  });

  test("only what the person set is sent to the server", async () => {
    const config = vscode.workspace.getConfiguration("agentLsp");
    assert.deepEqual(serverSettings(), {});
    await config.update("steps_max", 7, vscode.ConfigurationTarget.Workspace);
    assert.deepEqual(serverSettings(), { steps_max: 7 });
    await config.update("steps_max", undefined, vscode.ConfigurationTarget.Workspace);
  });

  test("a setting takes effect at the server, under its own name", async () => {
    const agent = extension.exports as import("../../src/agent").Agent;
    assert.ok(await agent.ensure());
    const config = vscode.workspace.getConfiguration("agentLsp");
    const steps = async () => ((await agent.client.request("agent/config", {})).settings as { steps_max?: number }).steps_max;
    await config.update("steps_max", 9, vscode.ConfigurationTarget.Workspace);
    const deadline = Date.now() + 15_000;
    while ((await steps()) !== 9) {
      assert.ok(Date.now() < deadline, `steps_max is ${await steps()}`);
      await new Promise((done) => setTimeout(done, 20));
    }
    await config.update("steps_max", undefined, vscode.ConfigurationTarget.Workspace);
  });

  test("the server speaks all that the extension calls", async () => {
    const agent = extension.exports as import("../../src/agent").Agent;
    assert.ok(await agent.ensure());
    const offered = agent.client.offer();
    const { methods, notifications } = await import("../../src/protocol");
    assert.deepEqual(methods.filter((m) => !offered.methods.includes(m)), []);
    assert.deepEqual(notifications.filter((m) => !offered.notifications.includes(m)), []);
  });
});

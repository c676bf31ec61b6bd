/** A real inference server that says what a script says: internal/llmtest's. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { ROOT } from "./workbench.ts";

export interface Model {
  baseURL: string;
  name: string;
  /** what goes wrong or takes long from now on, one a line: "always delay:20ms" */
  faults(text: string): Promise<void>;
  stop(): Promise<void>;
}

export async function startModel(scripts: string): Promise<Model> {
  const child = spawn("go", ["run", "./internal/llmtest/llmserve", "-scripts", scripts], { cwd: ROOT, stdio: ["pipe", "pipe", "inherit"], detached: true });
  const ended = new Promise((done) => child.on("exit", done));
  const line = await new Promise<string>((done, fail) => {
    let text = "";
    child.stdout.on("data", (data: Buffer) => {
      text += String(data);
      if (text.includes("\n")) {
        done(text.split("\n")[0]!);
      }
    });
    child.on("exit", (code) => fail(new Error(`llmserve ended with ${code}`)));
  });
  const { baseURL, model } = JSON.parse(line) as { baseURL: string; model: string };
  return {
    baseURL,
    name: model,
    async faults(text) {
      const r = await fetch(new URL("/_faults", baseURL), { method: "POST", body: text });
      if (!r.ok) {
        throw new Error(`the proxy refuses ${text}: ${await r.text()}`);
      }
    },
    async stop() {
      child.stdin.end(); // it ends by itself then, and llama-server with it
      await ended;
    },
  };
}

export const SCRIPTS = join(ROOT, "editors/vscode/tests/scripts");

/** A second client of the same workspace, without an editor: says what the server itself reports. */
import { spawn } from "node:child_process";
import { BIN } from "./workbench.ts";

/** One question to a server of the folder's own; it shares what the editor's server knows. */
export async function askServer(folder: string, env: Record<string, string>, method: string, params: unknown): Promise<unknown> {
  const server = spawn(BIN, ["serve"], { cwd: folder, env: { ...process.env, ...env }, stdio: ["pipe", "pipe", "ignore"] });
  let buffer = Buffer.alloc(0);
  const waiting = new Map<number, (m: { result?: unknown; error?: { message: string } }) => void>();
  server.stdout.on("data", (data: Buffer) => {
    buffer = Buffer.concat([buffer, data]);
    for (;;) {
      const head = buffer.indexOf("\r\n\r\n");
      const length = Number(/Content-Length: (\d+)/i.exec(buffer.subarray(0, Math.max(0, head)).toString())?.[1]);
      if (head < 0 || buffer.length < head + 4 + length) {
        return;
      }
      const message = JSON.parse(buffer.subarray(head + 4, head + 4 + length).toString()) as { id?: number; method?: string; result?: unknown; error?: { message: string } };
      buffer = buffer.subarray(head + 4 + length);
      if (message.id !== undefined && message.method === undefined) {
        waiting.get(message.id)?.(message);
      }
    }
  });
  const send = (message: object) => {
    const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }));
    server.stdin.write(Buffer.concat([Buffer.from(`Content-Length: ${body.length}\r\n\r\n`), body]));
  };
  const call = (id: number, name: string, p: unknown) =>
    new Promise<unknown>((done, fail) => {
      waiting.set(id, (m) => (m.error ? fail(new Error(m.error.message)) : done(m.result)));
      send({ id, method: name, params: p });
    });
  const ended = new Promise((done) => server.on("exit", done));
  try {
    await call(1, "initialize", { processId: process.pid, rootUri: `file://${folder}`, capabilities: {}, initializationOptions: { agentLsp: { client: "test", protocolVersion: 1, cycles: false } } });
    send({ method: "initialized", params: {} });
    const result = await call(2, method, params);
    await call(3, "shutdown", undefined);
    return result;
  } finally {
    send({ method: "exit" });
    server.stdin.end();
    await ended;
  }
}

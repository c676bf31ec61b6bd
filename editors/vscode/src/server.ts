/** Where the server's program is. Pure but for the file system. */
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import { homedir } from "node:os";

export interface Found {
  path?: string;
  /** the places that were looked at, for a person */
  looked: string[];
}

const NAME = process.platform === "win32" ? "agent-lsp.exe" : "agent-lsp";

function runs(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/**
 * Finds the program: what the setting names and nothing else, or else PATH, or else bin/ of the checkout that the
 * extension lies in.
 */
export function findServer(setting: string, extension: string, path = process.env["PATH"] ?? ""): Found {
  if (setting !== "") {
    const named = setting.replace(/^~(?=$|[\\/])/, homedir());
    const ok = isAbsolute(named) && runs(named);
    return { path: ok ? named : undefined, looked: [`agentLsp.server.path: ${setting}`] };
  }
  for (const dir of path.split(delimiter).filter(isAbsolute)) {
    if (runs(join(dir, NAME))) {
      return { path: join(dir, NAME), looked: [] };
    }
  }
  const built = join(extension, "..", "..", "bin", NAME);
  return { path: runs(built) ? built : undefined, looked: ["PATH", built] };
}

/** The extension's settings, and those that are the server's own. */
import * as vscode from "vscode";

/** Settings that go to the server as they are; the names are its own. */
export const SERVER_SETTINGS = [
  "model", "edits", "delivery", "steps_max", "runs_max", "permission_timeout", "evidence_tokens", "output_bytes",
  "permissions", "aliases", "providers", "models",
] as const;

/**
 * What the person has set of the server's settings. The defaults of package.json stay out: sent, they would win over
 * the person's own settings file.
 */
export function serverSettings(): Record<string, unknown> {
  const config = vscode.workspace.getConfiguration("agentLsp");
  const out: Record<string, unknown> = {};
  for (const name of SERVER_SETTINGS) {
    const set = config.inspect(name);
    if (set && [set.globalValue, set.workspaceValue, set.workspaceFolderValue].some((v) => v !== undefined)) {
      out[name] = config.get(name);
    }
  }
  return out;
}

export interface OwnSettings {
  serverPath: string;
  start: "used" | "always" | "onDemand";
  glyphs: "unicode" | "ascii";
  enterWhileRunning: "steer" | "followUp";
  deletedLines: boolean;
  revealFirst: boolean;
}

export function ownSettings(): OwnSettings {
  const c = vscode.workspace.getConfiguration("agentLsp");
  return {
    serverPath: c.get<string>("server.path", "").trim(),
    start: c.get<OwnSettings["start"]>("server.start", "used"),
    glyphs: c.get<OwnSettings["glyphs"]>("glyphs", "unicode"),
    enterWhileRunning: c.get<OwnSettings["enterWhileRunning"]>("enterWhileRunning", "steer"),
    deletedLines: c.get<boolean>("review.deletedLines", true),
    revealFirst: c.get<boolean>("review.revealFirst", true),
  };
}

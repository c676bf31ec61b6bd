/** Joins the parts. The server is started when it is wanted: by a view, a command, or a folder where it was used before. */
import * as vscode from "vscode";
import { Agent } from "./agent";

let agent: Agent | undefined;

export function activate(context: vscode.ExtensionContext): Agent {
  agent = new Agent(context);
  context.subscriptions.push(agent);
  return agent;
}

export async function deactivate(): Promise<void> {
  await agent?.stop();
}

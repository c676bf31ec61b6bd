/** The state in one word, and the status bar's few. Pure but for the item itself. */
import * as vscode from "vscode";
import { GLYPHS, count, shortDuration, type Glyphs } from "./glyphs";
import { ownSettings } from "./settings";
import type { Session } from "./session";

export interface Status {
  state: "none" | "untrusted" | "starting" | "down" | "idle" | "running" | "paused" | "waiting";
  pending: number;
  files: number;
  model: string;
  noModel: boolean;
  iter: number;
  max: number;
  /** milliseconds since the run began */
  elapsed: number;
}

/** "agent ● 3/40 sonnet 12s" */
export function words(s: Status, g: Glyphs): string {
  switch (s.state) {
    case "none":
      return `agent ${g.warn} no server`;
    case "down":
      return `agent ${g.warn} stopped`;
    case "untrusted":
      return `agent ${g.idle} restricted`;
    case "starting":
      return `agent ${g.running} starting`;
    case "paused":
      return `agent ${g.paused} paused`;
    case "waiting":
      return `agent ${g.waiting} asks you`;
    case "running": {
      const at = s.max > 0 ? [`${s.iter}/${s.max}`] : [];
      return ["agent", g.active, ...at, s.model.replace(/^.*\//, ""), shortDuration(s.elapsed)].join(" ");
    }
    case "idle":
      return s.pending > 0 ? `agent ${g.waiting} ${count(s.pending, "hunk")}` : s.noModel ? `agent ${g.warn} no model` : `agent ${g.idle}`;
  }
}

const TOOLTIPS: Record<Status["state"], string> = {
  none: "The program agent-lsp was not found. Click: what to do.",
  down: "The server ended several times and was not started again. Click to start it.",
  untrusted: "The agent waits until you trust this workspace.",
  starting: "The server is starting.",
  paused: "Paused. Click: resume, cancel, escalate.",
  waiting: "The agent asks for your permission. Click to answer.",
  running: "Running. Click: pause, cancel, escalate.",
  idle: "Click: ask, review, model, context.",
};

const TICK_MS = 1000;

export class StatusBar implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("agentLsp.status", vscode.StatusBarAlignment.Left, 20);
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly session: Session) {
    this.item.name = "Agent";
    this.item.command = "agentLsp.showStatus";
    this.draw();
  }

  draw(): void {
    const s = this.session.summary();
    const g = GLYPHS[ownSettings().glyphs];
    this.item.text = words(s, g);
    const hunks = s.pending > 0 ? `${count(s.pending, "hunk")} in ${count(s.files, "file")}` : "";
    this.item.tooltip = [`agent-lsp${s.model ? `: ${s.model}` : ""}`, hunks, TOOLTIPS[s.state]].filter(Boolean).join("\n");
    this.item.accessibilityInformation = { label: `Agent: ${s.state}${hunks ? `, ${hunks} to review` : ""}` };
    const urgent = s.state === "waiting" || s.state === "none" || s.state === "down";
    this.item.backgroundColor = urgent ? new vscode.ThemeColor("statusBarItem.warningBackground") : undefined;
    this.item.show();
    if (s.state === "running" && !this.timer) {
      this.timer = setInterval(() => this.draw(), TICK_MS);
    } else if (s.state !== "running" && this.timer) {
      clearInterval(this.timer);
      this.timer = undefined;
    }
  }

  dispose(): void {
    clearInterval(this.timer);
    this.item.dispose();
  }
}

/**
 * What the extension host and a webview tell each other. The host is a relay: a webview gets the server's
 * notifications as they are and may ask the server what RELAYED allows; the rest are things that only the editor can do.
 */
import type { ControlCommand, Methods, Notifications, PermissionParams, Range, StatusResult } from "./protocol";

/** The methods that a webview may call; the host refuses all others. */
export const RELAYED = [
  "agent/submit", "agent/session/new", "agent/session/list", "agent/session/load", "agent/session/rename",
  "agent/branch/list", "agent/branch/switch", "agent/branch/fork", "agent/queue", "agent/queue/edit", "agent/queue/remove", "agent/queue/move",
  "agent/complete", "agent/cycles", "agent/plan", "agent/plan/diff", "agent/plan/preview", "agent/retrieval", "agent/trace",
  "agent/outcome", "agent/edits", "agent/edits/resolve", "agent/pin", "agent/unpin", "agent/ttl", "agent/scratchpad",
  "agent/models", "agent/model/set", "agent/status", "agent/commands",
] as const satisfies readonly (keyof Methods)[];
export type Relayed = (typeof RELAYED)[number];

/** What the host knows and a webview draws. Sent after "ready" and on every change. */
export interface HostState {
  /** starting: being launched; none: no binary was found; down: ended and not restarted */
  server: "none" | "untrusted" | "starting" | "ready" | "down";
  sessionId?: string;
  branchId?: string;
  title?: string;
  status?: StatusResult;
  /** what is sent along with the next message, as the person chose it in the editor */
  attached: { label: string; uri: string; range?: Range; kind?: string }[];
  settings: { enterWhileRunning: "steer" | "followUp"; glyphs: "unicode" | "ascii" };
}

export type ToWebview =
  | { type: "state"; state: HostState }
  | { [M in keyof Notifications]: { type: "notification"; method: M; params: Notifications[M] } }[keyof Notifications]
  | { type: "response"; id: number; result?: unknown; error?: { message: string; code?: string; hint?: string } }
  /** the agent asks; the card stays until an answer or "permissionDone" */
  | { type: "permission"; id: string; params: PermissionParams }
  | { type: "permissionDone"; id: string }
  /** put the caret into the prompt, with this text if any */
  | { type: "focusPrompt"; text?: string }
  /** the context view: show this plan (absent: the latest) */
  | { type: "showPlan"; planId?: string };

export type ToHost =
  | { type: "ready" }
  | { type: "request"; id: number; method: Relayed; params: unknown }
  | { type: "control"; command: ControlCommand; model?: string; reason?: string }
  | { type: "permission"; id: string; optionId: string; reason?: string }
  | { type: "open"; uri: string; range?: Range }
  | { type: "openExternal"; url: string }
  /** remove what is attached, by its place */
  | { type: "detach"; index: number }
  /** one of the extension's own commands, agentLsp.* */
  | { type: "command"; command: string; args?: unknown[] }
  | { type: "copy"; text: string };

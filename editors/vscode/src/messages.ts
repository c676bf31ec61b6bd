/**
 * What the extension host and a webview tell each other. The host is a relay: a webview gets the server's
 * notifications as they are and may ask the server what RELAYED allows; the rest are things that only the editor can do.
 *
 * How a view lives:
 *
 *   view  → ready                                    after every load of its page, so also when it was hidden and is shown again
 *   host  → state, then permission for each open question
 *   view  → request agent/session/load {sessionId}   whenever state names another session or branch, or a delta is missing
 *   host  → notification …                           all of the server's, in order, as they come; none may be left out
 *
 * The host adds sessionId and branchId (its state's) to the params of a relayed request that names none, and to
 * agent/submit also source, focus, attachments (what is attached) and a clientRequestId where they are absent.
 */
import type { ControlCommand, Methods, Notifications, PermissionParams, Range, StatusResult } from "./protocol";

/** The methods that a webview may call; the host refuses all others. */
export const RELAYED = [
  "agent/submit", "agent/session/new", "agent/session/list", "agent/session/load", "agent/session/rename",
  "agent/branch/list", "agent/branch/switch", "agent/branch/fork", "agent/queue", "agent/queue/edit", "agent/queue/remove", "agent/queue/move",
  "agent/complete", "agent/cycles", "agent/plan", "agent/plan/diff", "agent/plan/preview", "agent/retrieval", "agent/trace",
  "agent/workflow/approve", "agent/outcome", "agent/edits", "agent/edits/resolve", "agent/pin", "agent/unpin", "agent/ttl", "agent/scratchpad",
  "agent/models", "agent/model/set", "agent/status", "agent/commands",
] as const satisfies readonly (keyof Methods)[];
export type Relayed = (typeof RELAYED)[number];

/** What only the editor knows; asked for by "request" as well. */
export interface EditorMethods {
  /** where the image of an answer can be loaded from: the webview URI of a file in the workspace; "" when it may not be shown */
  "editor/image": { params: { src: string }; result: { uri: string } };
}

/** All that a "request" can name, with params and result. */
export type Askable = Pick<Methods, Relayed> & EditorMethods;

/** One thing that goes along with the next message. */
export interface Attached {
  label: string;
  uri: string;
  range?: Range;
  kind?: string;
}

/** What the host knows and a webview draws. Sent after "ready" and on every change. */
export interface HostState {
  /** none: no binary was found; untrusted: the workspace isn't; starting: being launched; down: ended and not restarted */
  server: "none" | "untrusted" | "starting" | "ready" | "down";
  /** the session and branch that the views show; absent before the workspace's first message */
  sessionId?: string;
  branchId?: string;
  title?: string;
  status?: StatusResult;
  /** what is sent along with the next message, as the person chose it in the editor; cleared by the host once a message took it along */
  attached: Attached[];
  settings: { enterWhileRunning: "steer" | "followUp"; glyphs: "unicode" | "ascii" };
}

export interface Failure {
  message: string;
  code?: string;
  hint?: string;
}

export type ToWebview =
  | { type: "state"; state: HostState }
  | { [M in keyof Notifications]: { type: "notification"; method: M; params: Notifications[M] } }[keyof Notifications]
  | { type: "response"; id: number; result?: unknown; error?: Failure }
  /** the agent asks; the card stays until an answer or "permissionDone" */
  | { type: "permission"; id: string; params: PermissionParams }
  | { type: "permissionDone"; id: string }
  /** put the caret into the prompt, with this text if any */
  | { type: "focusPrompt"; text?: string }
  /** the context view: show this plan (absent: the latest) */
  | { type: "showPlan"; planId?: string };

export type ToHost =
  | { type: "ready" }
  /** answered by one "response" with the same id */
  | { type: "request"; id: number; method: keyof Askable; params: unknown }
  /** a REQUEST on loop:control; the host sends it again when no ACK comes, tells the person of a failure, and relays ACK and RESULT as notifications */
  | { type: "control"; command: ControlCommand; runId?: string; model?: string; reason?: string }
  | { type: "permission"; id: string; optionId: string; reason?: string }
  /** show this session and branch: the host remembers it and answers with a new "state" */
  | { type: "switch"; sessionId: string; branchId?: string }
  | { type: "open"; uri: string; range?: Range }
  /** a path as the server or an answer names it, relative to the workspace or absolute; line from 1 */
  | { type: "openPath"; path: string; line?: number }
  /** text that belongs to no file, in a read-only editor: a tool's whole result */
  | { type: "openText"; title: string; text: string; language?: string }
  /** put text in at the caret of the editor that was active last */
  | { type: "insert"; text: string }
  | { type: "openExternal"; url: string }
  /** remove what is attached, by its place */
  | { type: "detach"; index: number }
  /** one of the extension's own commands, agentLsp.* */
  | { type: "command"; command: string; args?: unknown[] }
  | { type: "copy"; text: string };

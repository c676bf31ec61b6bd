/** What a row of tool calls says: adjacent calls of one tool are one row, each call one below it. Pure. */
import type { Call, CallMeta, CyclesMeta, Group } from "../src/protocol";
import type { Glyphs } from "./glyphs";
import { cut, firstLine } from "./words";

const NAMES_MAX = 6; // calls named in one row
const NAME_MAX = 64; // characters of one call's name

/** Arguments that tell what a call is about, the most telling first. */
const TELLING = ["path", "file", "filePath", "file_path", "uri", "command", "cmd", "query", "pattern", "url", "name"];

export type CallState = "running" | "asking" | "ok" | "error" | "refused" | "cancelled" | "lost";

export interface Detail {
  summary?: string;
  paths?: string[];
  added?: number;
  removed?: number;
  sandboxed?: boolean;
}

/** Calls of the same tool, one after the other. */
export interface Run {
  tool: string;
  /** index in its group of the first */
  from: number;
  calls: Call[];
}

export function runs(group: Group): Run[] {
  const out: Run[] = [];
  for (const [i, call] of group.calls.entries()) {
    const last = out.at(-1);
    if (last?.tool === call.tool) {
      last.calls.push(call);
    } else {
      out.push({ tool: call.tool, from: i, calls: [call] });
    }
  }
  return out;
}

export function metaOf(meta: CyclesMeta, call: Call): Partial<CallMeta> {
  return meta.calls[call.callId] ?? {};
}

export function detailOf(meta: CyclesMeta, call: Call): Detail {
  const d = metaOf(meta, call).detail;
  return typeof d === "object" && d !== null ? (d as Detail) : {};
}

/** How a call stands. A call without a result in a cycle that is over has none to come. */
export function stateOf(meta: CyclesMeta, call: Call, active: boolean): CallState {
  const state = metaOf(meta, call).state;
  if (!call.result) {
    return !active ? "lost" : state === "asking" ? "asking" : "running";
  }
  return state === "refused" ? "refused" : call.result.status;
}

export interface Place {
  path: string;
  /** from 1 */
  line: number;
}

/** Where a call's file can be opened. */
export function placeOf(meta: CyclesMeta, call: Call): Place | undefined {
  const path = detailOf(meta, call).paths?.[0] ?? (call.args as { path?: unknown } | null)?.path;
  if (typeof path !== "string" || path === "") {
    return undefined;
  }
  const at = /^(.+?):(\d+)/.exec(path);
  return at ? { path: at[1]!, line: Number(at[2]) } : { path, line: 1 };
}

function summary(args: unknown): string {
  if (typeof args !== "object" || args === null) {
    return "";
  }
  const a = args as Record<string, unknown>;
  if (typeof a["pattern"] === "string" && a["pattern"] !== "") {
    return `"${a["pattern"]}"${typeof a["path"] === "string" && a["path"] !== "" ? ` in ${a["path"]}` : ""}`;
  }
  for (const name of TELLING) {
    const v = a[name];
    if (typeof v === "string" && v !== "") {
      return v;
    }
  }
  return Object.keys(a).length > 0 ? JSON.stringify(a) : "";
}

/** What one call is about, in a few words; `alone` when it has the row for itself. */
export function nameOf(meta: CyclesMeta, call: Call, alone: boolean): string {
  const m = metaOf(meta, call);
  const detail = detailOf(meta, call);
  const whole = call.tool === "read" && detail.paths?.[0] ? detail.paths[0] : m.title || summary(call.args);
  const name = cut(firstLine(whole).line, NAME_MAX);
  if (!detail.summary) {
    return name;
  }
  const came = cut(firstLine(detail.summary).line, NAME_MAX);
  const failed = call.result?.status === "error";
  if (call.tool === "bash") {
    return failed || detail.sandboxed === false ? `${name}   ${came}` : name;
  }
  if (failed || call.tool === "read") {
    return name;
  }
  return call.tool === "edit" || call.tool === "write" || alone ? `${name} (${came})` : name;
}

/** The names of a row's calls, and where each can be opened. */
export function namesOf(meta: CyclesMeta, calls: Call[]): { name: string; place: Place | undefined }[] {
  const names = calls
    .slice(0, NAMES_MAX)
    .map((c) => ({ name: nameOf(meta, c, calls.length === 1), place: FILE_TOOLS.has(c.tool) ? placeOf(meta, c) : undefined }))
    .filter((n) => n.name !== "");
  if (calls.length > NAMES_MAX) {
    names.push({ name: `${calls.length - NAMES_MAX} more`, place: undefined });
  }
  return names;
}
const FILE_TOOLS = new Set(["read", "edit", "write"]);

/** From the least to the most telling: the last that is there gives the row its glyph. */
const STATES: readonly (readonly [CallState, keyof Glyphs, string])[] = [
  ["lost", "cancelled", "no result"],
  ["cancelled", "cancelled", "cancelled"],
  ["error", "failed", "failed"],
  ["refused", "refused", "refused"],
  ["running", "running", "running"],
  ["asking", "waiting", "asks you"],
];

export interface Standing {
  /** absent: all is well, and the row shows its fold */
  glyph?: string;
  state: CallState;
  words: string;
}

/** Glyph and words of how some calls stand together. */
export function standing(meta: CyclesMeta, calls: Call[], active: boolean, g: Glyphs): Standing {
  const counts = new Map<CallState, number>();
  for (const call of calls) {
    const state = stateOf(meta, call, active);
    counts.set(state, (counts.get(state) ?? 0) + 1);
  }
  const out: Standing = { state: "ok", words: "" };
  const words: string[] = [];
  for (const [state, glyph, word] of STATES) {
    const n = counts.get(state);
    if (n) {
      out.glyph = g[glyph];
      out.state = state;
      words.push(n === calls.length ? word : `${n} ${word}`);
    }
  }
  out.words = words.join(", ");
  return out;
}

/** From the first call's start to the last one's end, for they run at the same time; undefined while one runs. */
export function took(meta: CyclesMeta, calls: Call[]): number | undefined {
  let from = Infinity;
  let to = -Infinity;
  for (const call of calls) {
    const m = metaOf(meta, call);
    const begun = Date.parse(m.started ?? "");
    if (!call.result || Number.isNaN(begun)) {
      return undefined;
    }
    from = Math.min(from, begun);
    to = Math.max(to, begun + (m.ms ?? 0));
  }
  return calls.length > 0 ? to - from : undefined;
}

/** How many hunks of a row's calls wait for review. */
export function hunksOf(pending: ReadonlyMap<string, number>, calls: Call[]): number {
  return calls.reduce((sum, c) => sum + (pending.get(c.callId) ?? 0), 0);
}

/** What a call's rows below it quote: a failed one's result, or why it was refused. */
export function quoteOf(meta: CyclesMeta, call: Call, active: boolean, whole: boolean): string {
  const state = stateOf(meta, call, active);
  const why = metaOf(meta, call).why;
  if (state === "refused" && why) {
    return why;
  }
  return call.result && (state === "error" || whole) ? call.result.text.trimEnd() : "";
}

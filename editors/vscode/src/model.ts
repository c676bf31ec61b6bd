/**
 * The projection of request cycles, kept by applying the deltas of agent/cycle. Pure: no DOM, no vscode. It is the twin of
 * the server's Reduce and is held to the same corpus of logs (cycle/testdata/corpus).
 *
 * A model is changed in place, so that a delta costs what it changes and not what there is. Whoever draws it passes
 * `touched` and learns what that was.
 */
import type { Cycle, CycleNotification, CycleOp, CyclesMeta, CyclesResult, Group, InferenceRound, MetaOp, Queued, Anomaly, Step } from "./protocol";

export interface Model {
  state: "idle" | "active";
  cycles: Cycle[];
  queued: Queued[];
  anomalies: Anomaly[];
}

export type Block = Extract<Step, { type: "ai-block" }>;
type Op<K extends CycleOp["op"]> = Extract<CycleOp, { op: K }>;

/** What an op or a meta entry changed. */
export interface Touched {
  /** a cycle came or its status changed, or its measurements did */
  cycle(id: string): void;
  /** a step came or changed; index counts from 0 */
  step(cycle: string, index: number): void;
  /** only the text of a step's item grew */
  text(cycle: string, index: number): void;
  /** a call's measurements changed */
  call(callId: string): void;
  /** the queue or the anomalies changed */
  tail(): void;
}

export function newModel(): Model {
  return { state: "idle", cycles: [], queued: [], anomalies: [] };
}

export function newMeta(): CyclesMeta {
  return { cycles: {}, calls: {} };
}

/** The cycle that is going on, if any: always the last. */
export function activeCycle(m: Model): Cycle | undefined {
  const last = m.cycles.at(-1);
  return last?.status === "active" ? last : undefined;
}

/** Applies ops in order, in place. Stops at the first that doesn't fit and says which and why: then the model must be fetched again. */
export function reduce(m: Model, ops: readonly CycleOp[], touched?: Touched): string | undefined {
  for (const [i, op] of ops.entries()) {
    const fault = reduceOne(m, op, touched);
    if (fault) {
      return `op ${i} (${op.op}) doesn't fit the model: ${fault}`;
    }
  }
  return undefined;
}

/** Applies what goes beside the ops: each entry replaces one of the meta's. */
export function reduceMeta(meta: CyclesMeta, ops: readonly MetaOp[] | undefined, touched?: Touched): void {
  for (const op of ops ?? []) {
    if (op.cycle && op.cycleMeta) {
      meta.cycles[op.cycle] = op.cycleMeta;
      touched?.cycle(op.cycle);
    }
    if (op.call && op.callMeta) {
      meta.calls[op.call] = op.callMeta;
      touched?.call(op.call);
    }
  }
}

/** Ops that need no active cycle; undefined where the op is none of them. */
function reduceOne(m: Model, op: CycleOp, touched?: Touched): string | undefined {
  switch (op.op) {
    case "cycle":
      if (m.state === "active") {
        return "a cycle is active already";
      }
      m.state = "active";
      m.cycles.push(openCycle(op));
      touched?.cycle(op.cycle);
      return undefined;
    case "push":
      m.queued.push({ id: op.id, text: op.text ?? "" });
      touched?.tail();
      return undefined;
    case "pop":
      if (m.queued.length === 0) {
        return "the queue is empty";
      }
      m.queued.shift();
      touched?.tail();
      return undefined;
    case "queue":
      m.queued = (op.queued ?? []).map((q) => ({ id: q.id, text: q.text }));
      touched?.tail();
      return undefined;
    case "anomaly":
      m.anomalies.push({ index: op.index ?? 0, reason: op.reason });
      touched?.tail();
      return undefined;
    default: {
      const c = activeCycle(m);
      if (m.state !== "active" || !c || c.id !== op.cycle) {
        return `cycle ${JSON.stringify(op.cycle ?? "")} is not the active one`;
      }
      return reduceActive(m, c, op, touched);
    }
  }
}

function openCycle(op: Op<"cycle">): Cycle {
  const text = op.text ?? "";
  return {
    id: op.cycle,
    root: { id: op.cycle, kind: op.kind, text },
    status: "active",
    steps: [{ type: "non-steer", id: op.cycle, text }],
    rounds: [],
  };
}

type ActiveOp = Exclude<CycleOp, { op: "cycle" | "push" | "pop" | "queue" | "anomaly" }>;

function reduceActive(m: Model, c: Cycle, op: ActiveOp, touched?: Touched): string | undefined {
  switch (op.op) {
    case "status":
      c.status = op.status;
      m.state = "idle";
      touched?.cycle(c.id);
      return undefined;
    case "step":
      return addStep(c, op, touched);
    case "text":
      return addText(c, op, touched);
    case "call":
      return addCall(c, op, touched);
    case "result":
      return setResult(c, op, touched);
    case "round":
      c.rounds?.push({ n: op.n ?? 0, input: [...(op.input ?? [])], output: [], feedback: [] });
      return undefined;
    case "output":
      return inRound(c, (r) => r.output.push(op.id));
    case "feedback":
      return inRound(c, (r) => r.feedback.push(op.id));
    default:
      return "unknown kind of op";
  }
}

function addStep(c: Cycle, op: Op<"step">, touched?: Touched): string | undefined {
  const steps = (c.steps ??= []);
  const at = op.step ?? 0;
  if (at !== steps.length) {
    return `step ${at} can't follow ${steps.length} steps`;
  }
  const text = op.text ?? "";
  steps.push(op.type === "ai-block" ? { type: op.type, text: { kind: op.kind ?? "assistant", id: op.id, text }, groups: [] } : { type: op.type, id: op.id, text });
  touched?.step(c.id, at);
  return undefined;
}

function addText(c: Cycle, op: Op<"text">, touched?: Touched): string | undefined {
  const at = op.step ?? 0;
  const s = c.steps?.[at];
  if (!s) {
    return `there is no step ${at}`;
  }
  if (s.type === "ai-block") {
    s.text.text += op.text ?? "";
  } else {
    s.text += op.text ?? "";
  }
  touched?.text(c.id, at);
  return undefined;
}

function addCall(c: Cycle, op: Op<"call">, touched?: Touched): string | undefined {
  const s = block(c, op.step ?? 0);
  if (typeof s === "string") {
    return s;
  }
  const group = op.group ?? 0;
  const call = op.call ?? 0;
  if (call === 0) {
    if (group !== s.groups.length) {
      return `group ${group} can't follow ${s.groups.length} groups`;
    }
    s.groups.push({ type: op.type, calls: [] });
  }
  const g = groupOf(s, group, op.step ?? 0);
  if (typeof g === "string") {
    return g;
  }
  if (call !== g.calls.length) {
    return `call ${call} can't follow ${g.calls.length} calls`;
  }
  g.calls.push({ callId: op.callId, tool: op.tool, args: op.args ?? {}, result: null });
  touched?.step(c.id, op.step ?? 0);
  return undefined;
}

function setResult(c: Cycle, op: Op<"result">, touched?: Touched): string | undefined {
  const s = block(c, op.step ?? 0);
  const g = typeof s === "string" ? s : groupOf(s, op.group ?? 0, op.step ?? 0);
  if (typeof g === "string") {
    return g;
  }
  const call = g.calls[op.call ?? 0];
  if (!call) {
    return `there is no call ${op.call ?? 0} in group ${op.group ?? 0} of step ${op.step ?? 0}`;
  }
  call.result = { status: op.status, text: op.text ?? "" };
  touched?.step(c.id, op.step ?? 0);
  return undefined;
}

function block(c: Cycle, at: number): Block | string {
  const s = c.steps?.[at];
  if (!s) {
    return `there is no step ${at}`;
  }
  return s.type === "ai-block" ? s : `step ${at} is no ai-block`;
}

function groupOf(s: Block, at: number, step: number): Group | string {
  return s.groups[at] ?? `there is no group ${at} in step ${step}`;
}

/** A view without rounds has none to change. */
function inRound(c: Cycle, change: (r: InferenceRound) => void): string | undefined {
  if (!c.rounds) {
    return undefined;
  }
  const last = c.rounds.at(-1);
  if (!last) {
    return "the cycle has no round";
  }
  change(last);
  return undefined;
}

const HELD_MAX = 4096; // deltas kept while the whole is fetched; with more, the fetch is repeated

/**
 * One branch's projection as a client keeps it: a snapshot, and the deltas after it in order. It never guesses: what it
 * can't apply is "gap", and then the owner fetches agent/cycles and calls take. Deltas that come meanwhile are held.
 */
export class Projection {
  sessionId = "";
  branchId = "";
  rev = 0;
  model = newModel();
  meta = newMeta();
  private fetching = true;
  private held: CycleNotification[] = [];

  constructor(private readonly touched?: Touched) {}

  /** Says that a snapshot was asked for: deltas are held until it is taken. */
  fetch(): void {
    this.fetching = true;
  }

  /** Takes a snapshot and what came since it was asked for. Gap: it must be fetched again. */
  take(r: CyclesResult): "applied" | "gap" {
    this.sessionId = r.sessionId;
    this.branchId = r.branchId;
    this.rev = r.rev ?? 0;
    this.model = { state: r.state === "active" ? "active" : "idle", cycles: r.cycles ?? [], queued: r.queued ?? [], anomalies: r.anomalies ?? [] };
    this.meta = { cycles: r.meta?.cycles ?? {}, calls: r.meta?.calls ?? {} };
    this.fetching = false;
    const held = this.held;
    this.held = [];
    for (const n of held) {
      if (this.apply(n) === "gap") {
        return "gap";
      }
    }
    return "applied";
  }

  /** Applies one delta. Of another session, already known, or held for later: "ignored". */
  apply(n: CycleNotification): "applied" | "ignored" | "gap" {
    if (this.fetching) {
      this.held.push(n);
      if (this.held.length > HELD_MAX) {
        this.held = []; // the hole that this leaves is found when the snapshot is taken
      }
      return "ignored";
    }
    if (n.sessionId !== this.sessionId || n.rev <= this.rev) {
      return "ignored";
    }
    if (n.rev !== this.rev + 1) {
      this.fetching = true;
      this.held = [n];
      return "gap";
    }
    this.rev = n.rev;
    if (n.branchId !== this.branchId) {
      return "ignored";
    }
    if (reduce(this.model, n.ops ?? [], this.touched)) {
      this.fetching = true;
      return "gap";
    }
    reduceMeta(this.meta, n.meta, this.touched);
    return "applied";
  }
}

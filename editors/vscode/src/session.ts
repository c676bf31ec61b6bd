/**
 * What this window knows of the workspace's agent: which session is shown, what runs, what waits. The step tree itself
 * lives in the chat view. It decides nothing.
 */
import * as vscode from "vscode";
import { sorted } from "./hunks";
import type {
  CycleMeta, CycleNotification, EditsChanged, Hunk, IndexStatus, LoopEvent, Methods, ModelInfo, RunInfo, SessionLoaded, StatusResult,
} from "./protocol";
import type { Status } from "./status";

/** The one way to the server; client.ts is it. */
export interface Gate {
  request<M extends keyof Methods>(method: M, params: Methods[M]["params"]): Promise<Methods[M]["result"]>;
  notify(method: string, params: unknown): void;
}

/** off: nobody has wanted it yet */
export type ServerState = "off" | "none" | "untrusted" | "starting" | "ready" | "down";

interface Run {
  id: string;
  iter: number;
  max: number;
  model: string;
  paused: boolean;
}

export interface HunkFile {
  uri: vscode.Uri;
  /** relative to the workspace */
  path: string;
  hunks: readonly Hunk[];
}

/** The same file has one key, however its URI is written. */
const keyOf = (uri: string): string => vscode.Uri.parse(uri).toString();

export class Session implements vscode.Disposable {
  server: ServerState = "off";
  id: string | undefined;
  branch: string | undefined;
  title = "";
  status: StatusResult | undefined;
  models: ModelInfo[] = [];
  pending = 0;
  run: Run | undefined;
  /** of the cycle that is active */
  meta: CycleMeta | undefined;

  private active: string | undefined; // the open cycle
  private rev = 0;
  private loading: { promise: Promise<void>; what: string } | undefined;
  private readonly byUri = new Map<string, Hunk[]>();
  private readonly statusEmitter = new vscode.EventEmitter<void>();
  private readonly hunksEmitter = new vscode.EventEmitter<void>();
  private readonly switchedEmitter = new vscode.EventEmitter<void>();
  readonly onStatus = this.statusEmitter.event;
  readonly onHunks = this.hunksEmitter.event;
  /** another session or branch is shown */
  readonly onSwitched = this.switchedEmitter.event;

  constructor(private readonly gate: Gate) {}

  /** The session and branch, for params. */
  ref(): { sessionId?: string; branchId?: string } {
    return { ...(this.id ? { sessionId: this.id } : {}), ...(this.branch ? { branchId: this.branch } : {}) };
  }

  /** As the server last told them; typing since then has not moved them (see review.ts). */
  hunksOf(uri: vscode.Uri): readonly Hunk[] {
    return this.byUri.get(uri.toString()) ?? [];
  }

  /** Hunks of all files, in path order, each file's from top to bottom. */
  files(): HunkFile[] {
    return [...this.byUri.entries()]
      .map(([key, hunks]) => ({ uri: vscode.Uri.parse(key), path: hunks[0]!.path, hunks }))
      .sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
  }

  running(): boolean {
    return this.active !== undefined || this.run !== undefined;
  }

  /** The run that a control is meant for. */
  runId(): string | undefined {
    return (this.active && this.meta?.runId) || this.run?.id || undefined;
  }

  summary(now = Date.now()): Status {
    const meta = this.active ? this.meta : undefined;
    const started = meta?.started ? Date.parse(meta.started) : NaN;
    const out: Status = {
      state: "idle",
      pending: this.pending,
      files: this.byUri.size,
      model: meta?.model || this.run?.model || this.status?.model || "",
      noModel: this.status !== undefined && this.status.model === "",
      iter: meta?.iter || this.run?.iter || 0,
      max: meta?.max || this.run?.max || 0,
      elapsed: Number.isNaN(started) ? 0 : Math.max(0, now - started),
    };
    if (this.server !== "ready" && this.server !== "off") {
      out.state = this.server;
    } else if (this.running()) {
      const paused = meta?.state === "paused" || this.run?.paused;
      out.state = paused ? "paused" : meta?.state === "asking" ? "waiting" : "running";
    }
    return out;
  }

  setServer(state: ServerState): void {
    this.server = state;
    if (state !== "ready") {
      this.run = this.meta = this.active = undefined;
    }
    if (state !== "ready" && state !== "starting") { // who starts again has them still
      this.setHunks([]);
    }
    this.statusEmitter.fire();
  }

  /** Loads a session, by default the one that is shown or else the workspace's latest. None is no error. */
  async load(ref: { sessionId?: string; branchId?: string } = this.ref()): Promise<void> {
    const what = `${ref.sessionId ?? ""}/${ref.branchId ?? ""}`;
    if (this.loading?.what !== what) {
      const before = this.loading?.promise;
      const mine = { what, promise: this.fetch(ref, before) };
      this.loading = mine;
      await mine.promise;
      if (this.loading === mine) {
        this.loading = undefined;
      }
    }
    await this.loading?.promise;
    await this.refresh();
  }

  private async fetch(ref: { sessionId?: string; branchId?: string }, before: Promise<void> | undefined): Promise<void> {
    await before;
    const loaded = await this.gate.request("agent/session/load", ref).catch(() => undefined);
    if (loaded) {
      this.take(loaded);
    } else {
      this.setHunks([]);
    }
  }

  private take(r: SessionLoaded): void {
    const before = `${this.id}/${this.branch}`;
    this.id = r.sessionId;
    this.branch = r.branchId;
    this.title = r.title;
    this.rev = r.cycles.rev;
    const last = r.cycles.cycles.at(-1);
    this.active = last?.status === "active" ? last.id : undefined;
    this.meta = this.active ? r.cycles.meta.cycles[this.active] : undefined;
    this.takeRun(r.run);
    this.setHunks(r.edits.hunks);
    this.statusEmitter.fire();
    if (before !== `${this.id}/${this.branch}`) {
      this.switchedEmitter.fire();
    }
  }

  private takeRun(run: RunInfo | undefined): void {
    const over = !run || run.state === "interrupted";
    this.run = over ? undefined : { id: run.runId, iter: run.iter, max: run.max, model: run.model, paused: run.state === "paused" };
  }

  /** Status and models: what the status bar and the first minute say. */
  async refresh(): Promise<void> {
    const [status, models] = await Promise.all([
      this.gate.request("agent/status", this.ref()).catch(() => undefined),
      this.gate.request("agent/models", {}).catch(() => undefined),
    ]);
    this.status = status ?? this.status;
    this.models = models?.models ?? this.models;
    this.statusEmitter.fire();
  }

  onCycle(n: CycleNotification): void {
    if (this.loading) {
      void this.loading.promise.then(() => this.onCycle(n));
      return;
    }
    if (!this.id) {
      void this.load({ sessionId: n.sessionId, branchId: n.branchId }); // somebody began the workspace's first session
      return;
    }
    if (n.sessionId !== this.id || n.rev <= this.rev) {
      return;
    }
    if (n.rev !== this.rev + 1) {
      void this.load();
      return;
    }
    this.rev = n.rev;
    if (n.branchId !== this.branch) {
      return;
    }
    const wasActive = this.active;
    for (const op of n.ops) {
      if (op.op === "cycle") {
        this.active = op.cycle;
        this.meta = undefined;
      } else if (op.op === "status" && op.cycle === this.active) {
        this.active = this.run = undefined;
      }
    }
    for (const m of n.meta ?? []) {
      if (m.cycle && m.cycle === this.active && m.cycleMeta) {
        this.meta = m.cycleMeta;
      }
    }
    if (wasActive && !this.active) {
      void this.refresh();
    }
    this.statusEmitter.fire();
  }

  onLoop(n: LoopEvent): void {
    if (n.event === "STATE") {
      const outer = n.stack[0];
      const inner = n.stack.at(-1);
      const mine = this.runId();
      if (outer && inner && (!mine || mine === n.run_id)) {
        this.run = { id: n.run_id, iter: inner.iter, max: inner.max, model: inner.model, paused: Boolean(outer.paused || inner.paused) };
      }
    } else if (this.run?.id === n.run_id) {
      this.run = undefined;
    }
    this.statusEmitter.fire();
  }

  onIndex(n: IndexStatus): void {
    if (this.status) {
      this.status = { ...this.status, index: n };
    }
    this.statusEmitter.fire();
  }

  private setHunks(list: readonly Hunk[]): void {
    this.byUri.clear();
    this.group(list);
    this.pending = list.length;
    this.hunksEmitter.fire();
  }

  private group(list: readonly Hunk[]): void {
    for (const key of new Set(list.map((h) => keyOf(h.uri)))) {
      this.byUri.set(key, sorted(list.filter((h) => keyOf(h.uri) === key)));
    }
  }

  onEdits(n: EditsChanged): void {
    for (const uri of n.uris) {
      this.byUri.delete(keyOf(uri));
    }
    this.group(n.hunks);
    this.pending = n.pending;
    this.hunksEmitter.fire();
    this.statusEmitter.fire();
  }

  dispose(): void {
    this.statusEmitter.dispose();
    this.hunksEmitter.dispose();
    this.switchedEmitter.dispose();
  }
}

/**
 * What the chat view knows: the host's state, and the projection of the session that it shows. It decides nothing; it
 * collects what changed and tells the view once per animation frame, however fast the server speaks.
 */
import type { Failure, HostState, ToWebview } from "../src/messages";
import { activeCycle, Projection, type Model, type Touched } from "../src/model";
import type { Cycle, CycleMeta, CyclesMeta, EditsChanged, Hunk, IndexStatus, LoopEvent, ModelInfo, PermissionParams, RunInfo, SessionInfo, StreamChunk } from "../src/protocol";
import { HostError, post, request } from "./host";

/** What changed since the last drawing. */
export class Changes implements Touched {
  /** everything: another session, or a new snapshot */
  all = false;
  cycles = new Set<string>();
  /** by cycle: steps to draw anew */
  steps = new Map<string, Set<number>>();
  /** by cycle: steps whose text grew and nothing else */
  texts = new Map<string, Set<number>>();
  calls = new Set<string>();
  /** what stands round the tree */
  rest = false;

  cycle(id: string): void {
    this.cycles.add(id);
  }
  step(cycle: string, index: number): void {
    add(this.steps, cycle, index);
    if (index > 1) {
      add(this.steps, cycle, index - 1); // it is not the latest any more
    }
  }
  text(cycle: string, index: number): void {
    add(this.texts, cycle, index);
  }
  call(callId: string): void {
    this.calls.add(callId);
  }
  tail(): void {
    this.rest = true;
  }
}

function add(to: Map<string, Set<number>>, cycle: string, index: number): void {
  const set = to.get(cycle);
  if (set) {
    set.add(index);
  } else {
    to.set(cycle, new Set([index]));
  }
}

export interface Question {
  id: string;
  params: PermissionParams;
}

/** A state command and its answer; it stands after the cycle that was the latest then. */
export interface Answer {
  after: string | undefined;
  input: string;
  content: string;
  ok: boolean;
}

const ANSWERS_MAX = 100;

export class Store {
  host: HostState = { server: "starting", attached: [], settings: { enterWhileRunning: "steer", glyphs: "unicode" } };
  title = "";
  /** the branch's name, where the session has several */
  branch = "";
  run: RunInfo | undefined;
  sessions: SessionInfo[] = [];
  models: ModelInfo[] = [];
  index: IndexStatus | undefined;
  questions: Question[] = [];
  answers: Answer[] = [];
  telemetry = "";
  queuePaused = false;
  /** what went wrong with something that the person asked for; shown until the next thing is asked */
  fault = "";
  loaded = false;
  private projection: Projection;
  private changes = new Changes();
  private scheduled = false;
  private hunks = new Map<string, Hunk[]>();
  private loopPaused = false;
  private loading = "";

  constructor(private readonly draw: (changes: Changes) => void) {
    this.projection = new Projection({
      cycle: (id) => this.changes.cycle(id),
      step: (cycle, index) => this.changes.step(cycle, index),
      text: (cycle, index) => this.changes.text(cycle, index),
      call: (id) => this.changes.call(id),
      tail: () => this.changes.tail(),
    });
  }

  get model(): Model {
    return this.projection.model;
  }
  get meta(): CyclesMeta {
    return this.projection.meta;
  }
  active(): Cycle | undefined {
    return activeCycle(this.model);
  }
  activeMeta(): CycleMeta | undefined {
    const c = this.active();
    return c && this.meta.cycles[c.id];
  }
  paused(): boolean {
    return this.active() !== undefined && (this.activeMeta()?.state === "paused" || this.loopPaused);
  }
  /** the run that a control is meant for */
  runId(): string | undefined {
    return this.activeMeta()?.runId || this.run?.runId;
  }

  /** Hunks that wait for review, of all files. */
  pending(): { hunks: number; files: number; conflicts: number; byCall: Map<string, number> } {
    const byCall = new Map<string, number>();
    let hunks = 0;
    let files = 0;
    let conflicts = 0;
    for (const list of this.hunks.values()) {
      files += list.length > 0 ? 1 : 0;
      hunks += list.length;
      for (const hunk of list) {
        conflicts += hunk.status === "conflict" ? 1 : 0;
        if (hunk.callId) {
          byCall.set(hunk.callId, (byCall.get(hunk.callId) ?? 0) + 1);
        }
      }
    }
    return { hunks, files, conflicts, byCall };
  }

  /** Draws soon; many calls are one drawing. */
  changed(what: "rest" | "all" = "rest"): void {
    this.changes.rest = true;
    this.changes.all ||= what === "all";
    if (!this.scheduled) {
      this.scheduled = true;
      requestAnimationFrame(() => {
        this.scheduled = false;
        const changes = this.changes;
        this.changes = new Changes();
        this.draw(changes);
      });
    }
  }

  take(m: Exclude<ToWebview, { type: "response" }>): void {
    switch (m.type) {
      case "state":
        this.takeState(m.state);
        break;
      case "notification":
        this.takeNotification(m);
        break;
      case "permission":
        this.questions = [...this.questions.filter((q) => q.id !== m.id), { id: m.id, params: m.params }];
        this.changed();
        break;
      case "permissionDone":
        this.questions = this.questions.filter((q) => q.id !== m.id);
        this.changed();
        break;
      default:
        break;
    }
  }

  private takeState(state: HostState): void {
    const was = this.host;
    this.host = state;
    this.title = state.title ?? this.title;
    this.index = state.status?.index ?? this.index;
    if (state.server !== "ready") {
      this.loading = "";
    } else if (was.server !== "ready" || this.shows(state) === "another") {
      void this.load();
      void this.list();
    }
    this.changed(was.settings.glyphs === state.settings.glyphs ? "rest" : "all");
  }

  /** Whether the host shows what is loaded here, or is being loaded. */
  private shows(state: HostState): "the same" | "another" {
    const [session, branch] = this.loading.split("/");
    const same = (state.sessionId ?? session) === session && (state.branchId ?? branch) === branch;
    return this.loading !== "" && same ? "the same" : "another";
  }

  private takeNotification(m: Extract<ToWebview, { type: "notification" }>): void {
    switch (m.method) {
      case "agent/cycle":
        if (this.loaded && this.projection.sessionId === "") {
          this.host = { ...this.host, sessionId: m.params.sessionId, branchId: m.params.branchId }; // somebody began the workspace's first session
          void this.load();
        }
        this.takeDelta(m.params);
        break;
      case "agent/stream":
        this.takeStream(m.params);
        break;
      case "agent/edits/changed":
        this.takeEdits(m.params);
        break;
      case "agent/index":
        this.index = m.params;
        this.changed();
        break;
      case "loop:current":
        this.takeLoop(m.params);
        break;
      default:
        break;
    }
  }

  private takeDelta(n: Parameters<Projection["apply"]>[0]): void {
    const before = this.model.state;
    const came = this.projection.apply(n);
    if (came === "gap") {
      void this.load();
    } else if (came === "applied") {
      if (before !== this.model.state) {
        this.telemetry = "";
        this.loopPaused = false;
        this.run = undefined;
        void this.refreshQueue();
        void this.list();
      }
      this.changed();
    }
  }

  private takeStream(n: StreamChunk): void {
    if (n.sessionId === this.projection.sessionId && n.branchId === this.projection.branchId) {
      this.telemetry = n.type === "processing" && !n.isComplete ? n.content : "";
      this.changed();
    }
  }

  private takeEdits(n: EditsChanged): void {
    const before = this.pending().byCall;
    for (const uri of n.uris) {
      this.hunks.delete(uri);
    }
    this.addHunks(n.hunks);
    for (const id of new Set([...before.keys(), ...this.pending().byCall.keys()])) {
      this.changes.call(id);
    }
    this.changed();
  }

  private addHunks(hunks: Hunk[]): void {
    for (const hunk of hunks) {
      this.hunks.set(hunk.uri, [...(this.hunks.get(hunk.uri) ?? []), hunk]);
    }
  }

  private takeLoop(n: LoopEvent): void {
    if (n.run_id === this.runId()) {
      this.loopPaused = n.event === "STATE" && n.stack.some((f) => f.paused);
      this.changed();
    }
  }

  /** Loads the session that the host shows, or the workspace's latest. A workspace without any is no error. */
  async load(): Promise<void> {
    const { sessionId, branchId } = this.host;
    const asked = `${sessionId ?? ""}/${branchId ?? ""}`;
    this.loading = asked;
    this.projection.fetch();
    try {
      const r = await request("agent/session/load", { ...(sessionId && { sessionId }), ...(branchId && { branchId }) });
      if (asked !== this.loading) {
        return;
      }
      const other = r.sessionId !== this.projection.sessionId || r.branchId !== this.projection.branchId;
      this.loading = `${r.sessionId}/${r.branchId}`;
      this.title = r.title;
      this.branch = (r.branches?.length ?? 0) > 1 ? (r.branches.find((b) => b.branchId === r.branchId)?.name ?? "") : "";
      this.run = r.run;
      this.loopPaused = r.run?.state === "paused";
      this.hunks.clear();
      this.addHunks(r.edits.hunks);
      this.answers = other ? [] : this.answers;
      if (this.projection.take(r.cycles) === "gap") {
        await this.load();
      }
      void this.refreshQueue();
    } catch (fault) {
      if (!(fault instanceof HostError && fault.failure.code === "not_found")) {
        this.fault = String((fault as Error).message);
      }
    }
    this.loaded = true;
    this.changed("all");
  }

  /** Sessions and models: what the head of the view offers. */
  async list(): Promise<void> {
    const [sessions, models] = await Promise.all([request("agent/session/list", {}), request("agent/models", {})]).catch(() => []);
    this.sessions = sessions?.sessions ?? this.sessions;
    this.models = models?.models ?? this.models;
    this.changed();
  }

  /** Asks whether the queue waits: nothing else says so. */
  private async refreshQueue(): Promise<void> {
    const paused = this.model.queued.length > 0 && (await request("agent/queue", {}).catch(() => undefined))?.paused === true;
    if (paused !== this.queuePaused) {
      this.queuePaused = paused;
      this.changed();
    }
  }

  /** Changes the queue and shows what the server made of it. */
  async queue(method: "agent/queue/edit" | "agent/queue/remove" | "agent/queue/move", params: { id: string; input?: string; to?: number }): Promise<void> {
    await this.doing(async () => {
      const r = await request(method, params);
      this.queuePaused = r.paused;
      this.model.queued = r.queued;
      this.changed();
    });
  }

  /** Sends a message; false when the server didn't take it, so that nothing typed is lost. */
  async submit(input: string, delivery: "auto" | "steer" | "followUp"): Promise<boolean> {
    return this.doing(async () => {
      const after = this.model.cycles.at(-1)?.id;
      const r = await request("agent/submit", { input, delivery, source: "vscode" });
      if (r.response) {
        this.answers = [...this.answers, { after, input, content: r.response.content || r.response.error || "", ok: r.response.success }].slice(-ANSWERS_MAX);
        this.changed("all");
      }
      if (r.sessionId !== this.projection.sessionId && this.host.sessionId !== r.sessionId) {
        post({ type: "switch", sessionId: r.sessionId, branchId: r.branchId });
      }
    });
  }

  /** Carries a proposed workflow out. */
  async approve(turnId: string): Promise<void> {
    await this.doing(async () => void (await request("agent/workflow/approve", { turnId })));
  }

  control(command: "pause" | "resume" | "cancel"): void {
    const runId = this.runId();
    post({ type: "control", command, ...(runId && { runId }) });
  }

  /** Does what the person asked for and shows why where it couldn't be done. */
  async doing(fn: () => Promise<void>): Promise<boolean> {
    this.fault = "";
    try {
      await fn();
      return true;
    } catch (fault) {
      const f: Failure = fault instanceof HostError ? fault.failure : { message: String((fault as Error).message) };
      this.fault = f.hint ? `${f.message} ${f.hint}` : f.message;
      return false;
    } finally {
      this.changed();
    }
  }
}

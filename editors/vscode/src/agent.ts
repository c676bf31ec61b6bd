/** One window's agent: makes the parts, carries messages between them, and says when the server runs. */
import * as vscode from "vscode";
import { Ask, complete, type Attached } from "./ask";
import { Browse } from "./browse";
import { Client, explain } from "./client";
import { register } from "./commands";
import { Conflicts } from "./conflicts";
import { Control } from "./control";
import { Decorations } from "./decorate";
import { Diffs } from "./diff";
import { answer } from "./editor";
import { Live } from "./live";
import type { HostState, Relayed, ToWebview } from "./messages";
import { Permissions } from "./permission";
import type { ControlCommand, ControlPayload, Notifications, SessionInfo, SubmitParams, SubmitResult } from "./protocol";
import { Review } from "./review";
import { findServer } from "./server";
import { Session } from "./session";
import { SessionTree } from "./sessions";
import { ownSettings } from "./settings";
import { StatusBar } from "./status";
import { ReviewTree, type Node } from "./tree";
import { Undo } from "./undo";
import { AgentView, inWorkspace, type Host, type Told } from "./views";

const USED = "agentLsp.used"; // workspace state: the agent was asked here

const DONE: Record<ControlCommand, string> = { pause: "paused", resume: "resumed", cancel: "cancelled", escalate: "escalated" };

export class Agent implements Host, vscode.Disposable {
  readonly log = vscode.window.createOutputChannel("Agent", { log: true });
  readonly client: Client;
  readonly session: Session;
  readonly permissions = new Permissions();
  readonly control: Control;
  readonly ask: Ask;
  readonly browse: Browse;
  readonly undo: Undo;
  readonly review: Review;
  readonly tree: ReviewTree;
  readonly diffs: Diffs;
  readonly chat: AgentView;
  readonly context: AgentView;
  attached: Attached[] = [];

  private readonly status: StatusBar;
  private readonly parts: vscode.Disposable[];
  private starting: Promise<boolean> | undefined;

  constructor(private readonly extension: vscode.ExtensionContext) {
    this.client = new Client(this.log, {
      notifications: {
        "agent/cycle": (n) => this.onCycle(n),
        "agent/stream": (n) => this.both("agent/stream", n, () => undefined),
        "agent/edits/changed": (n) => this.both("agent/edits/changed", n, () => this.session.onEdits(n)),
        "agent/index": (n) => this.both("agent/index", n, () => this.session.onIndex(n)),
        "loop:control": (n) => this.both("loop:control", n, () => this.control.answered(n)),
        "loop:current": (n) => this.both("loop:current", n, () => this.session.onLoop(n)),
      },
      requests: {
        "agent/permission": (p, token) => this.permissions.ask(p, token),
        "agent/editor": (p, token) => answer(p, token),
      },
      ready: () => void this.serverReady(),
      ended: (again) => this.serverEnded(again),
      command: (name) => this.serverCommand(name),
    });
    this.session = new Session(this.client);
    this.control = new Control((m) => this.client.notify("loop:control", m));
    this.ask = new Ask(this.client, this.session, (r) => this.submitted(r));
    this.browse = new Browse(this.client, this.session);
    this.undo = new Undo(this.client, this.session);
    const live = new Live(this.session);
    const decorations = new Decorations(live, extension.extensionUri);
    this.diffs = new Diffs(this.session, live);
    this.review = new Review(this.client, this.session, live, decorations, this.diffs);
    this.tree = new ReviewTree(this.session, live);
    this.status = new StatusBar(this.session);
    this.chat = new AgentView("chat", "Agent", extension.extensionUri, this);
    this.context = new AgentView("context", "Agent context", extension.extensionUri, this);
    const keep = { webviewOptions: { retainContextWhenHidden: true } };
    this.parts = [
      vscode.window.registerWebviewViewProvider("agentLsp.chat", this.chat, keep),
      vscode.window.registerWebviewViewProvider("agentLsp.context", this.context),
      live, decorations, this.diffs, this.review, this.tree, this.status, this.browse, this.permissions, this.session,
      new Conflicts(this.session, live), new SessionTree(this.client, this.session), register(this),
      this.session.onStatus(() => this.statusChanged()),
      this.session.onSwitched(() => this.statusChanged()),
      this.permissions.onAsked((q) => this.chat.postWhenReady({ type: "permission", ...q })),
      this.permissions.onOver((id) => this.chat.post({ type: "permissionDone", id })),
      vscode.workspace.onDidChangeConfiguration((e) => this.settingsChanged(e)),
      vscode.workspace.onDidGrantWorkspaceTrust(() => void this.startAsSet()),
    ];
    void this.startAsSet();
  }

  // The server.

  /** At the window's start: only where the person is known to want it. */
  private async startAsSet(): Promise<void> {
    const { start } = ownSettings();
    if (!vscode.workspace.isTrusted) {
      this.session.setServer("untrusted");
    } else if (start === "always" || (start === "used" && this.extension.workspaceState.get<boolean>(USED)) || this.chat.visible) {
      await this.ensure();
    } else if (this.session.server !== "ready") {
      this.session.setServer("off");
    }
  }

  /** The server runs after this, or the person was told why not. */
  ensure(): Promise<boolean> {
    this.starting ??= this.start().finally(() => {
      this.starting = undefined;
    });
    return this.starting;
  }

  private async start(): Promise<boolean> {
    if (this.client.running) {
      return true;
    }
    if (!vscode.workspace.isTrusted) {
      this.session.setServer("untrusted");
      return false;
    }
    const found = findServer(ownSettings().serverPath, this.extension.extensionPath);
    if (!found.path) {
      this.session.setServer("none");
      void this.tellMissing(found.looked);
      return false;
    }
    this.session.setServer("starting");
    try {
      await this.client.start(found.path);
      return true;
    } catch (e) {
      this.session.setServer("down");
      void this.offerLog(`the server could not be started: ${explain(e)}`);
      return false;
    }
  }

  private async tellMissing(looked: string[]): Promise<void> {
    const how = "Show How";
    const chosen = await vscode.window.showErrorMessage(`Agent: there is no program agent-lsp (looked at: ${looked.join(", ")}).`, how);
    if (chosen === how) {
      await vscode.commands.executeCommand("agentLsp.openWalkthrough");
    }
  }

  private async offerLog(message: string): Promise<void> {
    const show = "Show Log";
    if ((await vscode.window.showErrorMessage(`Agent: ${message}`, show)) === show) {
      this.log.show();
    }
  }

  private async serverReady(): Promise<void> {
    await this.session.load();
    this.session.setServer("ready");
  }

  private serverEnded(again: boolean): void {
    this.control.lost();
    this.permissions.withdrawAll();
    this.session.setServer(again ? "starting" : "down");
    if (!again) {
      void this.offerLog("the server ended several times within a minute and is not started again. “Agent: Restart the Server” does");
    }
  }

  /** A code action of the server that this editor does better itself. */
  private serverCommand(name: string): boolean {
    if (name === "agent.edit") {
      void this.ask.inline(this.ensure());
      return true;
    }
    if (name === "agent.submit") {
      void this.showChat();
    }
    return false;
  }

  async restart(): Promise<void> {
    await this.client.stop();
    await this.ensure();
  }

  async stop(): Promise<void> {
    await this.client.stop();
  }

  private settingsChanged(e: vscode.ConfigurationChangeEvent): void {
    this.client.settingsChanged(e);
    if (e.affectsConfiguration("agentLsp.server.path")) {
      void (this.client.running ? this.restart() : this.startAsSet());
    }
    if (e.affectsConfiguration("agentLsp")) {
      this.statusChanged();
    }
  }

  // From the server to the views.

  private both<M extends keyof Notifications>(method: M, params: Notifications[M], first: () => void): void {
    first();
    this.chat.notification(method, params);
    this.context.notification(method, params);
  }

  private onCycle(n: Notifications["agent/cycle"]): void {
    this.both("agent/cycle", n, () => this.session.onCycle(n));
    for (const m of n.meta ?? []) {
      if (m.call && m.callMeta) {
        this.permissions.callIs(m.call, m.callMeta.state);
      }
    }
  }

  private statusChanged(): void {
    const s = this.session.summary();
    const set = (key: string, value: unknown) => void vscode.commands.executeCommand("setContext", `agentLsp.${key}`, value);
    set("active", s.state !== "none" && s.state !== "untrusted");
    set("state", s.state);
    set("running", this.session.running());
    set("paused", s.state === "paused");
    set("asking", this.permissions.waiting().length > 0);
    this.status.draw();
    const waits = this.permissions.waiting().length;
    this.chat.badge(waits > 0 ? { value: waits, tooltip: "The agent asks for your permission" } : undefined);
    const message: ToWebview = { type: "state", state: this.state() };
    this.chat.post(message);
    this.context.post(message);
  }

  // Host: what the views need.

  state(): HostState {
    const { glyphs, enterWhileRunning } = ownSettings();
    const s = this.session;
    return { server: s.server === "off" ? "starting" : s.server, ...s.ref(), title: s.title, status: s.status, attached: this.attached, settings: { glyphs, enterWhileRunning } };
  }

  enrich(method: Relayed, params: unknown): unknown {
    return method === "agent/submit" ? complete(this.session, params as SubmitParams, this.attached) : { ...this.session.ref(), ...(params as object) };
  }

  answered(method: Relayed, result: unknown): void {
    if (method === "agent/submit") {
      this.attached = [];
      this.submitted(result as SubmitResult);
    } else if (method === "agent/session/new") {
      void this.session.load({ sessionId: (result as SessionInfo).sessionId });
    } else if (method === "agent/branch/switch" || method === "agent/model/set") {
      void this.session.load();
    }
  }

  private submitted(r: SubmitResult): void {
    void this.extension.workspaceState.update(USED, true);
    if (r.sessionId && r.sessionId !== this.session.id) {
      void this.session.load({ sessionId: r.sessionId, branchId: r.branchId });
    } else if (r.response) {
      void this.session.refresh();
    }
    this.statusChanged();
  }

  opening(name: "chat" | "context"): ToWebview[] {
    return name === "chat" ? this.permissions.waiting().map((q) => ({ type: "permission", ...q })) : [];
  }

  shown(): void {
    void this.ensure();
  }

  told(m: Told): void {
    switch (m.type) {
      case "control":
        void this.request(m.command, { ...(m.model ? { model: m.model } : {}), ...(m.reason ? { reason: m.reason } : {}) }, m.runId);
        break;
      case "permission":
        this.permissions.answer(m.id, m.optionId, m.reason);
        break;
      case "switch":
        void this.browse.open({ sessionId: m.sessionId, ...(m.branchId ? { branchId: m.branchId } : {}) });
        break;
      case "open":
        void this.open(m.uri, m.range?.start.line ?? 0);
        break;
      case "openPath":
        void this.open(m.path, (m.line ?? 1) - 1);
        break;
      case "openText":
        void this.browse.text(m.title, m.text, m.language);
        break;
      case "insert":
        void vscode.window.activeTextEditor?.edit((e) => e.replace(vscode.window.activeTextEditor!.selection, m.text));
        break;
      case "openExternal":
        if (/^https?:\/\//i.test(m.url)) {
          void vscode.env.openExternal(vscode.Uri.parse(m.url));
        }
        break;
      case "detach":
        this.attached.splice(m.index, 1);
        this.statusChanged();
        break;
      case "command":
        if (/^agentLsp\.\w+$/.test(m.command)) {
          void vscode.commands.executeCommand(m.command, ...(m.args ?? []));
        }
        break;
      case "copy":
        void vscode.env.clipboard.writeText(m.text);
        break;
    }
  }

  /** Opens a place in the workspace: what an answer names outside of it stays closed. */
  private async open(name: string, line: number): Promise<void> {
    const uri = inWorkspace(name);
    if (!uri) {
      void vscode.window.showWarningMessage(`Agent: ${name} is not in this workspace.`);
      return;
    }
    const start = new vscode.Position(Math.max(0, line), 0);
    await vscode.window.showTextDocument(uri, { selection: new vscode.Range(start, start) }).then(undefined, (e: unknown) => {
      void vscode.window.showWarningMessage(`Agent: ${explain(e)}`);
    });
  }

  async showChat(text?: string): Promise<void> {
    await vscode.commands.executeCommand("agentLsp.chat.focus");
    this.chat.postWhenReady({ type: "focusPrompt", ...(text ? { text } : {}) });
  }

  /** The review view, at the file that the person is in. */
  async showReview(): Promise<void> {
    if (this.session.pending === 0) {
      void vscode.window.showInformationMessage("Agent: no hunks to review.");
      return;
    }
    await vscode.commands.executeCommand("agentLsp.review.focus");
  }

  /** What the review view's keys mean while it has the focus. */
  selected(): Node | undefined {
    return this.tree.view.selection[0];
  }

  attach(a: Attached): void {
    this.attached = [...this.attached.filter((x) => x.label !== a.label), a];
    this.statusChanged();
  }

  /** Pause and the like: sent, and what came of it told when it failed. */
  async request(command: ControlCommand, payload: ControlPayload = {}, of?: string): Promise<void> {
    const run = of ?? this.session.runId();
    if (!run) {
      void vscode.window.showInformationMessage(`Agent: nothing runs that could be ${DONE[command]}.`);
      return;
    }
    const result = await this.control.request(run, command, payload);
    if (result.status === "failure") {
      const message = `Agent: ${command}: ${result.message ?? result.code ?? "failed"}`;
      void (result.code === "no_answer" ? this.offerLog(message) : vscode.window.showWarningMessage(message));
    }
  }

  dispose(): void {
    for (const p of this.parts) {
      p.dispose();
    }
    this.client.dispose();
    this.log.dispose();
  }
}

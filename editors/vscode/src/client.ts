/** The server's life: found, started, started again after a crash. All that goes to it and comes from it passes here. */
import * as vscode from "vscode";
import {
  CloseAction, ErrorAction, LanguageClient, State, type CloseHandlerResult, type LanguageClientOptions, type ServerOptions,
} from "vscode-languageclient/node";
import type { ErrorData, Methods, Notifications, ServerOffer, ServerRequests } from "./protocol";
import { protocolVersion } from "./protocol";
import { EDITOR_OPS } from "./editor";
import type { Gate } from "./session";
import { SERVER_SETTINGS, serverSettings } from "./settings";

const RESTARTS_MAX = 3; // within RESTART_WINDOW_MS; then the person decides
const RESTART_WINDOW_MS = 60_000;

export interface Handlers {
  notifications: { [M in keyof Notifications]: (params: Notifications[M]) => void };
  requests: { [M in keyof ServerRequests]: (params: ServerRequests[M]["params"], token: vscode.CancellationToken) => Promise<ServerRequests[M]["result"]> };
  /** the server answers again: after its start and after every restart */
  ready(): void;
  /** it ended; whether it is being started again */
  ended(again: boolean): void;
  /** a command of the server's code actions; true: done here */
  command(name: string, args: unknown[]): boolean;
}

/** An error of the server, with what to do. */
export class AgentError extends Error {
  constructor(message: string, readonly data?: Partial<ErrorData>) {
    super(message);
  }
}

/** What an error says, with what to do. */
export function explain(e: unknown): string {
  const hint = e instanceof AgentError ? e.data?.hint : undefined;
  const message = e instanceof Error ? e.message : String(e);
  return hint ? `${message} – ${hint}` : message;
}

export class Client implements Gate, vscode.Disposable {
  private client: LanguageClient | undefined;
  private starting: Promise<void> | undefined;
  private crashes: number[] = [];

  constructor(private readonly log: vscode.LogOutputChannel, private readonly handlers: Handlers) {}

  get running(): boolean {
    return this.client?.state === State.Running;
  }

  /** Starts the program, once; rejects when it doesn't answer initialize. */
  start(program: string): Promise<void> {
    this.starting ??= this.launch(program).catch((e: unknown) => {
      this.starting = undefined;
      throw e;
    });
    return this.starting;
  }

  private async launch(program: string): Promise<void> {
    // Inside of Electron the environment names Electron's own mode; the server's children must not inherit it.
    const { ELECTRON_RUN_AS_NODE: _, ...env } = process.env;
    const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
    const server: ServerOptions = { command: program, args: ["serve"], options: { env, ...(folder ? { cwd: folder } : {}) } };
    const client = new LanguageClient("agentLsp", "agent-lsp", server, this.options());
    this.client = client;
    for (const [method, fn] of Object.entries(this.handlers.notifications)) {
      client.onNotification(method, (params: unknown) => (fn as (p: unknown) => void)(params));
    }
    for (const [method, fn] of Object.entries(this.handlers.requests)) {
      client.onRequest(method, (params: unknown, token: vscode.CancellationToken) => (fn as (p: unknown, t: vscode.CancellationToken) => unknown)(params, token));
    }
    client.onDidChangeState((e) => {
      if (e.newState === State.Running) {
        this.handlers.ready();
      }
    });
    await client.start();
  }

  private options(): LanguageClientOptions {
    return {
      documentSelector: [{ scheme: "file" }],
      outputChannel: this.log,
      initializationOptions: () => ({
        agentLsp: { client: "vscode", protocolVersion, permission: true, editorOps: EDITOR_OPS, cycles: true },
        settings: serverSettings(),
      }),
      errorHandler: { error: () => ({ action: ErrorAction.Continue, handled: true }), closed: () => this.closed() },
      middleware: {
        provideCodeLenses: () => [], // ours say more, and each would be there twice
        executeCommand: (name, args, next) => (this.handlers.command(name, args) ? undefined : next(name, args)),
        workspace: {
          configuration: (params) => params.items.map((i) => (i.section === "agentLsp" ? serverSettings() : null)),
        },
      },
    };
  }

  private closed(): CloseHandlerResult {
    const now = Date.now();
    this.crashes = [...this.crashes.filter((t) => now - t < RESTART_WINDOW_MS), now];
    const again = this.crashes.length <= RESTARTS_MAX;
    this.handlers.ended(again);
    if (!again) {
      this.starting = undefined;
    }
    return { action: again ? CloseAction.Restart : CloseAction.DoNotRestart, handled: true };
  }

  /** Ends the server, if it runs. */
  async stop(): Promise<void> {
    const client = this.client;
    this.client = this.starting = undefined;
    this.crashes = [];
    await client?.dispose().catch((e: unknown) => this.log.warn(`the server did not end well: ${String(e)}`));
  }

  async request<M extends keyof Methods>(method: M, params: Methods[M]["params"]): Promise<Methods[M]["result"]> {
    return (await this.raw(method, params)) as Methods[M]["result"];
  }

  /** Any request of LSP, standard or not. */
  async raw(method: string, params: unknown): Promise<unknown> {
    await this.starting;
    if (!this.client) {
      throw new AgentError("the server doesn't run");
    }
    try {
      return await this.client.sendRequest(method, params);
    } catch (e) {
      const { message, data } = e as { message?: string; data?: Partial<ErrorData> };
      throw new AgentError(message ?? String(e), data);
    }
  }

  /** What the server said that it speaks. */
  offer(): ServerOffer {
    const own = this.client?.initializeResult?.capabilities.experimental as { agentLsp?: ServerOffer } | undefined;
    return own?.agentLsp ?? { protocolVersion: 0, methods: [], notifications: [] };
  }

  notify(method: string, params: unknown): void {
    if (this.running) {
      void this.client!.sendNotification(method, params);
    }
  }

  /** Tells the server that its settings changed; it asks for them. */
  settingsChanged(e: vscode.ConfigurationChangeEvent): void {
    if (SERVER_SETTINGS.some((name) => e.affectsConfiguration(`agentLsp.${name}`))) {
      this.notify("workspace/didChangeConfiguration", { settings: { agentLsp: serverSettings() } });
    }
  }

  dispose(): void {
    void this.stop();
  }
}

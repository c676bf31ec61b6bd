/** The host's side of the chat view and the context view: a relay between a webview and the server. */
import { randomBytes } from "node:crypto";
import { isAbsolute } from "node:path";
import * as vscode from "vscode";
import { shell } from "../webview/shell";
import { AgentError, type Client } from "./client";
import { RELAYED, type Askable, type EditorMethods, type HostState, type Relayed, type ToHost, type ToWebview } from "./messages";
import type { Notifications } from "./protocol";

/** What a view tells that is no request. */
export type Told = Exclude<ToHost, { type: "request" } | { type: "ready" }>;

/** What a view needs of the rest. */
export interface Host {
  client: Client;
  state(): HostState;
  /** a view's request, before it goes out and after it came back */
  enrich(method: Relayed, params: unknown): unknown;
  answered(method: Relayed, result: unknown): void;
  told(message: Told): void;
  /** messages that a view that has just opened needs beside the state */
  opening(name: "chat" | "context"): ToWebview[];
  /** somebody looks at a view: the server is wanted */
  shown(): void;
}

const WAITING_MAX = 64; // messages for a view that has not said it is ready

export class AgentView implements vscode.WebviewViewProvider {
  private view: vscode.WebviewView | undefined;
  private ready = false;
  private waiting: ToWebview[] = [];

  constructor(private readonly name: "chat" | "context", private readonly title: string, private readonly extension: vscode.Uri, private readonly host: Host) {}

  get visible(): boolean {
    return this.view?.visible === true;
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    const dist = vscode.Uri.joinPath(this.extension, "dist");
    this.view = view;
    this.ready = false;
    view.webview.options = { enableScripts: true, localResourceRoots: [dist, ...(vscode.workspace.workspaceFolders ?? []).map((f) => f.uri)], enableCommandUris: false };
    view.webview.onDidReceiveMessage((m: ToHost) => void this.receive(m));
    view.onDidDispose(() => {
      this.view = undefined;
      this.ready = false;
    });
    const file = (name: string) => view.webview.asWebviewUri(vscode.Uri.joinPath(dist, name)).toString();
    view.webview.html = shell({
      title: this.title, source: view.webview.cspSource, nonce: randomBytes(16).toString("base64url"),
      script: file(`${this.name}.js`), style: file(`${this.name}.css`),
    });
    this.host.shown();
  }

  badge(badge: vscode.ViewBadge | undefined): void {
    if (this.view) {
      this.view.badge = badge;
    }
  }

  post(m: ToWebview): void {
    if (this.ready) {
      void this.view?.webview.postMessage(m);
    }
  }

  /** Like post, but waits for a view that is only opening. */
  postWhenReady(m: ToWebview): void {
    if (this.ready) {
      this.post(m);
    } else {
      this.waiting = [...this.waiting, m].slice(-WAITING_MAX);
    }
  }

  notification<M extends keyof Notifications>(method: M, params: Notifications[M]): void {
    this.post({ type: "notification", method, params } as ToWebview);
  }

  private async receive(m: ToHost): Promise<void> {
    if (m.type === "ready") {
      this.ready = true;
      this.post({ type: "state", state: this.host.state() });
      for (const waiting of [...this.host.opening(this.name), ...this.waiting.splice(0)]) {
        this.post(waiting);
      }
    } else if (m.type === "request") {
      this.post(await this.relay(m));
    } else {
      this.host.told(m);
    }
  }

  private async relay(m: Extract<ToHost, { type: "request" }>): Promise<ToWebview> {
    try {
      if (isImage(m.method)) {
        return { type: "response", id: m.id, result: this.image(m.params as EditorMethods["editor/image"]["params"]) };
      }
      if (!isRelayed(m.method)) {
        throw new AgentError(`a view may not call ${String(m.method)}`);
      }
      const params = this.host.enrich(m.method, m.params);
      const result = await this.host.client.request(m.method, params as never);
      this.host.answered(m.method, result);
      return { type: "response", id: m.id, result };
    } catch (e) {
      const data = e instanceof AgentError ? e.data : undefined;
      const message = e instanceof Error ? e.message : String(e);
      return { type: "response", id: m.id, error: { message, code: data?.code, hint: data?.hint } };
    }
  }

  /** Images of answers: files of the workspace and nothing else. */
  private image({ src }: { src: string }): { uri: string } {
    const uri = inWorkspace(src);
    return { uri: uri && this.view && IMAGES.test(uri.path) ? this.view.webview.asWebviewUri(uri).toString() : "" };
  }
}

const IMAGES = /\.(png|jpe?g|gif|webp|svg|avif|bmp)$/i;
const isImage = (m: keyof Askable): m is "editor/image" => m === "editor/image";
const isRelayed = (m: keyof Askable): m is Relayed => (RELAYED as readonly string[]).includes(m);

/** The file in the workspace that a path or a file URI names. */
export function inWorkspace(name: string): vscode.Uri | undefined {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  const uri = /^file:/i.test(name) ? vscode.Uri.parse(name) : /^[a-z][a-z0-9+.-]+:/i.test(name) || !folder ? undefined : isAbsolute(name) ? vscode.Uri.file(name) : vscode.Uri.joinPath(folder, name);
  return uri && vscode.workspace.getWorkspaceFolder(uri) ? uri : undefined;
}

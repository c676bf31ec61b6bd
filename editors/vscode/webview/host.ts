/** The one way from a view to the extension host and back. */
import type { Askable, Failure, ToHost, ToWebview } from "../src/messages";

interface VsCode {
  postMessage(message: ToHost): void;
  getState(): unknown;
  setState(state: unknown): void;
}
declare function acquireVsCodeApi(): VsCode;

const vscode = acquireVsCodeApi();
const waiting = new Map<number, { resolve: (result: never) => void; reject: (fault: HostError) => void }>();
let lastId = 0;

/** A request that the server or the host refused. */
export class HostError extends Error {
  constructor(readonly failure: Failure) {
    super(failure.hint ? `${failure.message} ${failure.hint}` : failure.message);
  }
}

export function post(message: ToHost): void {
  vscode.postMessage(message);
}

export function request<M extends keyof Askable>(method: M, params: Askable[M]["params"]): Promise<Askable[M]["result"]> {
  const id = ++lastId;
  return new Promise((resolve, reject) => {
    waiting.set(id, { resolve, reject });
    post({ type: "request", id, method, params });
  });
}

/** Hands every message but responses to the view. */
export function listen(fn: (message: Exclude<ToWebview, { type: "response" }>) => void): void {
  window.addEventListener("message", (e: MessageEvent<ToWebview>) => {
    const m = e.data;
    if (m.type !== "response") {
      fn(m);
      return;
    }
    const w = waiting.get(m.id);
    waiting.delete(m.id);
    if (m.error) {
      w?.reject(new HostError(m.error));
    } else {
      w?.resolve(m.result as never);
    }
  });
}

/** What a view keeps for its next life: when it was hidden, or the window reloaded. */
export function remember<T extends object>(state: T): void {
  vscode.setState(state);
}

export function remembered<T extends object>(): Partial<T> {
  return (vscode.getState() as T | undefined) ?? {};
}

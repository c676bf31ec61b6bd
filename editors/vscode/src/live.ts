/** Where hunks are in documents as they are now: typing moves them before the server says so. */
import * as vscode from "vscode";
import { shift, sorted, type TextChange } from "./hunks";
import type { Hunk } from "./protocol";
import type { Session } from "./session";

const CHANGES_MAX = 512; // kept per document; beyond it the server's next word is awaited

interface Past {
  version: number;
  changes: TextChange[];
}

export class Live implements vscode.Disposable {
  private readonly past = new Map<string, Past[]>();
  private readonly listeners: vscode.Disposable[];

  constructor(private readonly session: Session) {
    this.listeners = [
      vscode.workspace.onDidChangeTextDocument((e) => this.changed(e)),
      vscode.workspace.onDidCloseTextDocument((d) => this.past.delete(d.uri.toString())),
    ];
  }

  private changed(e: vscode.TextDocumentChangeEvent): void {
    const key = e.document.uri.toString();
    if (e.document.uri.scheme !== "file" || e.contentChanges.length === 0) {
      return;
    }
    const list = this.past.get(key) ?? [];
    // Several changes of one event are all in the coordinates of before; from bottom to top none moves another.
    const changes = [...e.contentChanges].sort((a, b) => b.rangeOffset - a.rangeOffset).map((c) => ({ range: c.range, text: c.text }));
    list.push({ version: e.document.version, changes });
    this.past.set(key, list.slice(-CHANGES_MAX));
  }

  /** A document's hunks, from top to bottom. */
  of(document: vscode.TextDocument): Hunk[] {
    const hunks = this.session.hunksOf(document.uri);
    const past = this.past.get(document.uri.toString()) ?? [];
    const moved = hunks.map((h) => {
      const since = h.version === undefined ? [] : past.filter((p) => p.version > h.version!);
      return since.length === 0 ? h : { ...h, range: since.flatMap((p) => p.changes).reduce((r, c) => shift(r, c), h.range) };
    });
    return sorted(moved);
  }

  dispose(): void {
    for (const l of this.listeners) {
      l.dispose();
    }
  }
}

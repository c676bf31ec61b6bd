/** Both texts of a conflict, beside the lines where it is: the person's stand in the file, the other two in a comment. */
import * as vscode from "vscode";
import { span } from "./hunks";
import type { Live } from "./live";
import type { Hunk } from "./protocol";
import type { Session } from "./session";

const LINES_MAX = 200; // of one text

export class Conflicts implements vscode.Disposable {
  private readonly controller = vscode.comments.createCommentController("agentLsp.conflicts", "Agent Conflicts");
  private readonly threads = new Map<string, vscode.CommentThread>();
  private readonly listener: vscode.Disposable;

  constructor(private readonly session: Session, private readonly live: Live) {
    this.listener = session.onHunks(() => void this.changed());
  }

  private async changed(): Promise<void> {
    const now = this.session.files().flatMap((f) => f.hunks.filter((h) => h.status === "conflict").map((h) => ({ uri: f.uri, h })));
    for (const [id, thread] of this.threads) {
      if (!now.some(({ h }) => h.hunkId === id)) {
        thread.dispose();
        this.threads.delete(id);
      }
    }
    for (const { uri, h } of now) {
      const document = vscode.workspace.textDocuments.find((d) => d.uri.toString() === uri.toString());
      const live = (document && this.live.of(document).find((l) => l.hunkId === h.hunkId)) ?? h;
      const line = Math.max(0, Math.max(span(live).first, span(live).after - 1));
      const range = new vscode.Range(line, 0, line, 0);
      const known = this.threads.get(h.hunkId);
      if (known) {
        known.range = range;
      } else {
        this.threads.set(h.hunkId, this.thread(uri, range, h, document?.languageId ?? ""));
      }
    }
  }

  private thread(uri: vscode.Uri, range: vscode.Range, h: Hunk, language: string): vscode.CommentThread {
    const text = (title: string, body: string): vscode.Comment => ({
      author: { name: title }, mode: vscode.CommentMode.Preview,
      body: new vscode.MarkdownString().appendCodeblock(body.split("\n").slice(0, LINES_MAX).join("\n").replace(/\n$/, ""), language),
    });
    const thread = this.controller.createCommentThread(uri, range, [text("Before the agent", h.baseText), text("From the agent", h.newText)]);
    thread.label = "Conflict: you changed these lines too. Yours are in the file.";
    thread.canReply = false;
    thread.contextValue = h.hunkId;
    thread.collapsibleState = vscode.CommentThreadCollapsibleState.Expanded;
    return thread;
  }

  dispose(): void {
    this.listener.dispose();
    this.controller.dispose();
  }
}

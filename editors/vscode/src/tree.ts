/** The review view: every pending hunk of every file, as a list that the keyboard and screen readers go through. */
import * as vscode from "vscode";
import { GLYPHS, count } from "./glyphs";
import { asDiff, remarks, size, span, summary } from "./hunks";
import type { Live } from "./live";
import type { Hunk } from "./protocol";
import type { HunkFile, Session } from "./session";
import { ownSettings } from "./settings";

export type Node = { file: HunkFile } | { file: HunkFile; hunk: Hunk; number: number };

export class ReviewTree implements vscode.TreeDataProvider<Node>, vscode.Disposable {
  private readonly changeEmitter = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.changeEmitter.event;
  readonly view: vscode.TreeView<Node>;
  private readonly listener: vscode.Disposable;

  constructor(private readonly session: Session, private readonly live: Live) {
    this.view = vscode.window.createTreeView("agentLsp.review", { treeDataProvider: this, showCollapseAll: true });
    this.listener = session.onHunks(() => this.changed());
  }

  private changed(): void {
    const n = this.session.pending;
    this.view.badge = n > 0 ? { value: n, tooltip: `${count(n, "hunk")} to review` } : undefined;
    this.view.description = n > 0 ? `${count(n, "hunk")} in ${count(this.session.files().length, "file")}` : undefined;
    this.changeEmitter.fire();
  }

  getChildren(node?: Node): Node[] {
    if (!node) {
      return this.session.files().map((file) => ({ file }));
    }
    return "hunk" in node ? [] : node.file.hunks.map((hunk, i) => ({ file: node.file, hunk, number: i + 1 }));
  }

  getParent(node: Node): Node | undefined {
    return "hunk" in node ? { file: node.file } : undefined;
  }

  getTreeItem(node: Node): vscode.TreeItem {
    return "hunk" in node ? this.hunkItem(node.file, node.hunk, node.number) : fileItem(node.file);
  }

  private hunkItem(file: HunkFile, h: Hunk, number: number): vscode.TreeItem {
    const item = new vscode.TreeItem(summary(h) || "(empty line)");
    const document = vscode.workspace.textDocuments.find((d) => d.uri.toString() === file.uri.toString());
    const now = (document && this.live.of(document).find((l) => l.hunkId === h.hunkId)) ?? h;
    const conflict = h.status === "conflict";
    item.id = h.hunkId;
    item.description = [`line ${span(now).first + 1}`, size(h, GLYPHS[ownSettings().glyphs]), ...remarks(h)].join("  ");
    item.iconPath = conflict
      ? new vscode.ThemeIcon("warning", new vscode.ThemeColor("list.warningForeground"))
      : new vscode.ThemeIcon("diff-modified", new vscode.ThemeColor("gitDecoration.modifiedResourceForeground"));
    item.contextValue = conflict ? "hunk-conflict" : "hunk";
    item.tooltip = new vscode.MarkdownString().appendCodeblock(asDiff(h), "diff");
    item.accessibilityInformation = { label: `hunk ${number} of ${file.hunks.length} in ${file.path}, ${item.description}: ${summary(h)}` };
    item.command = { command: "agentLsp.showHunk", title: "Show", arguments: [h.hunkId] };
    return item;
  }

  dispose(): void {
    this.listener.dispose();
    this.view.dispose();
    this.changeEmitter.dispose();
  }
}

function fileItem(f: HunkFile): vscode.TreeItem {
  const item = new vscode.TreeItem(f.uri, vscode.TreeItemCollapsibleState.Expanded);
  const dir = f.path.split("/").slice(0, -1).join("/");
  item.id = f.uri.toString();
  item.description = [dir, count(f.hunks.length, "hunk")].filter(Boolean).join("  ");
  item.contextValue = "file";
  item.accessibilityInformation = { label: `${f.path}, ${count(f.hunks.length, "hunk")}` };
  return item;
}

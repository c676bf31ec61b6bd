/** Sessions and their branches as a tree; loaded when somebody looks. */
import * as vscode from "vscode";
import { count } from "./glyphs";
import type { BranchInfo, SessionInfo } from "./protocol";
import type { Gate, Session } from "./session";

export type SessionNode = { info: SessionInfo } | { info: SessionInfo; branch: BranchInfo };

export class SessionTree implements vscode.TreeDataProvider<SessionNode>, vscode.Disposable {
  private readonly changeEmitter = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.changeEmitter.event;
  private readonly view: vscode.TreeView<SessionNode>;
  private readonly listeners: vscode.Disposable[];
  private seen = "";

  constructor(private readonly gate: Gate, private readonly session: Session) {
    this.view = vscode.window.createTreeView("agentLsp.sessions", { treeDataProvider: this });
    this.listeners = [session.onSwitched(() => this.refresh()), session.onStatus(() => this.changed()), this.view.onDidChangeVisibility(() => this.refresh())];
  }

  /** A run that began or ended changes what the tree says; its steps don't. */
  private changed(): void {
    const now = [this.session.server, this.session.running(), this.session.id, this.session.branch, this.session.status?.requests].join();
    if (now !== this.seen) {
      this.seen = now;
      this.refresh();
    }
  }

  refresh(): void {
    if (this.view.visible) {
      this.changeEmitter.fire();
    }
  }

  async getChildren(node?: SessionNode): Promise<SessionNode[]> {
    if (node) {
      return "branch" in node ? [] : node.info.branches.map((branch) => ({ info: node.info, branch }));
    }
    if (this.session.server !== "ready") {
      return [];
    }
    const r = await this.gate.request("agent/session/list", {}).catch(() => undefined);
    return (r?.sessions ?? []).map((info) => ({ info }));
  }

  getTreeItem(node: SessionNode): vscode.TreeItem {
    return "branch" in node ? this.branchItem(node.info, node.branch) : this.sessionItem(node.info);
  }

  private sessionItem(info: SessionInfo): vscode.TreeItem {
    const several = info.branches.length > 1;
    const here = info.sessionId === this.session.id;
    const { None, Expanded, Collapsed } = vscode.TreeItemCollapsibleState;
    const item = new vscode.TreeItem(info.title || "untitled", several ? (here ? Expanded : Collapsed) : None);
    item.id = info.sessionId;
    item.iconPath = new vscode.ThemeIcon(here ? "comment-discussion" : "comment");
    item.description = [here ? "open" : "", count(info.turns, "turn"), when(info.lastActive)].filter(Boolean).join("  ");
    item.contextValue = "session";
    item.command = { command: "agentLsp.openSession", title: "Open", arguments: [node(info)] };
    return item;
  }

  private branchItem(info: SessionInfo, b: BranchInfo): vscode.TreeItem {
    const here = info.sessionId === this.session.id && b.branchId === this.session.branch;
    const item = new vscode.TreeItem(b.name);
    item.id = `${info.sessionId}/${b.branchId}`;
    item.iconPath = new vscode.ThemeIcon("git-branch");
    item.description = [here ? "open" : "", count(b.turns, "turn"), b.active ? "running" : ""].filter(Boolean).join("  ");
    item.contextValue = `${here ? "branch-open" : "branch"}${b.parent ? "-fork" : ""}`;
    item.command = { command: "agentLsp.openSession", title: "Open", arguments: [node(info, b)] };
    return item;
  }

  dispose(): void {
    for (const l of [...this.listeners, this.view, this.changeEmitter]) {
      l.dispose();
    }
  }
}

const node = (info: SessionInfo, branch?: BranchInfo) => ({ sessionId: info.sessionId, ...(branch ? { branchId: branch.branchId } : {}) });

/** "today 10:04", "2026-01-01 10:04" */
export function when(stamp: string): string {
  const d = new Date(stamp);
  if (Number.isNaN(d.getTime())) {
    return "";
  }
  const two = (n: number) => String(n).padStart(2, "0");
  const time = `${two(d.getHours())}:${two(d.getMinutes())}`;
  return d.toDateString() === new Date().toDateString() ? time : `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ${time}`;
}

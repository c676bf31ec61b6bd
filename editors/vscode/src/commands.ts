/** Every verb as a command. Arguments may come from the palette (none), words above hunks (ids), lists (their nodes) and the peek. */
import * as vscode from "vscode";
import type { Agent } from "./agent";
import { selection } from "./ask";
import type { SessionNode } from "./sessions";
import type { Node } from "./tree";

/** The argument of a key that is pressed in the review view: what is selected there is meant, not where the cursor is. */
const LIST = "selected";

/** The hunk that a command's argument names: an id, or a node of the review view. */
function hunkId(arg: unknown): string | undefined {
  const node = arg as Node | undefined;
  return typeof arg === "string" ? arg : node && typeof node === "object" && "hunk" in node ? node.hunk.hunkId : undefined;
}

function fileOf(arg: unknown): vscode.Uri | undefined {
  if (arg instanceof vscode.Uri) {
    return arg.scheme === "file" ? arg : undefined;
  }
  const node = arg as Node | undefined;
  return node && typeof node === "object" && "file" in node ? node.file.uri : undefined;
}

function branchOf(arg: unknown): { sessionId: string; branchId: string } | undefined {
  const node = arg as SessionNode | undefined;
  return node && typeof node === "object" && "branch" in node ? { sessionId: node.info.sessionId, branchId: node.branch.branchId } : undefined;
}

export function register(a: Agent): vscode.Disposable {
  const verbs: Record<string, (...args: never[]) => unknown> = {
    ask: (text?: unknown) => ask(a, text),
    fix: () => a.ask.action("Agent: fix"),
    explain: () => a.ask.action("Agent: explain"),
    writeTest: () => a.ask.action("Agent: write a test"),
    acceptHunk: (arg: unknown, changes?: unknown, index?: unknown) => decide(a, "accept", arg, changes, index),
    rejectHunk: (arg: unknown, changes?: unknown, index?: unknown) => decide(a, "reject", arg, changes, index),
    acceptFile: (arg?: unknown) => a.review.decideFile("accept", fileOf(arg)),
    rejectFile: (arg?: unknown) => a.review.decideFile("reject", fileOf(arg)),
    acceptAll: () => a.review.decideAll("accept"),
    rejectAll: () => a.review.decideAll("reject"),
    nextHunk: () => a.review.go(1),
    previousHunk: () => a.review.go(-1),
    review: () => a.showReview(),
    showHunk: (id: string) => {
      const found = a.review.find(id);
      return found && a.review.show(found.uri, found.hunk);
    },
    openDiff: (arg?: unknown) => {
      const uri = typeof arg === "string" ? a.review.find(arg)?.uri : (fileOf(arg) ?? vscode.window.activeTextEditor?.document.uri);
      return uri && a.diffs.open(uri);
    },
    peekHunk: (arg?: unknown) => a.review.peek(hunkId(arg)),
    pause: () => a.request("pause"),
    resume: () => a.request("resume"),
    cancel: () => a.request("cancel"),
    escalate: async (model?: unknown, reason?: unknown) => {
      const chosen = typeof model === "string" ? model : await a.browse.pickModel("Agent: escalate to");
      return chosen && a.request("escalate", { model: chosen, ...(typeof reason === "string" ? { reason } : {}) });
    },
    showContext: async (planId?: unknown) => {
      await vscode.commands.executeCommand("agentLsp.context.focus");
      a.context.postWhenReady({ type: "showPlan", ...(typeof planId === "string" ? { planId } : {}) });
    },
    showTrace: (turnId?: unknown) => a.browse.trace(typeof turnId === "string" ? turnId : undefined),
    undoTurn: () => a.undo.turn(),
    undoReject: () => a.undo.reject(),
    model: (name?: unknown) => a.browse.model(typeof name === "string" ? name : undefined),
    newSession: () => a.browse.newSession(),
    sessions: () => a.browse.sessions(),
    branches: () => a.browse.branches(),
    openSession: (ref: { sessionId: string; branchId?: string }) => a.browse.open(ref),
    compareBranches: (arg?: unknown) => a.browse.compare(branchOf(arg)),
    adoptBranch: (arg?: unknown) => a.browse.adopt(branchOf(arg)),
    forkBranch: () => a.browse.fork(),
    permission: () => a.permissions.pick(),
  };
  /** These work, explain or begin without a server. */
  const without: Record<string, (...args: never[]) => unknown> = {
    askInline: () => a.ask.inline(a.ensure()),
    showStatus: () => showStatus(a),
    restart: () => a.restart(),
    showLog: () => a.log.show(),
    openWalkthrough: () => vscode.commands.executeCommand("workbench.action.openWalkthrough", "agent-lsp.agent-lsp#start", false),
  };
  const wanted = ([name, fn]: [string, (...args: never[]) => unknown]) =>
    vscode.commands.registerCommand(`agentLsp.${name}`, async (...args: never[]) => ((await a.ensure()) ? fn(...args) : undefined));
  return vscode.Disposable.from(
    ...Object.entries(verbs).map(wanted),
    ...Object.entries(without).map(([name, fn]) => vscode.commands.registerCommand(`agentLsp.${name}`, fn)),
  );
}

/** Asks at once when words are given, else opens the chat with the selection attached. */
async function ask(a: Agent, text: unknown): Promise<void> {
  const chosen = selection();
  if (typeof text === "string" && text.trim() !== "") {
    await a.ask.submit(text, chosen ? [chosen] : []);
    return;
  }
  if (chosen) {
    a.attach(chosen);
  }
  await a.showChat();
}

/** The peek gives a document, its changes and the number of the one that is shown; the cursor is on it. */
async function decide(a: Agent, decision: "accept" | "reject", arg: unknown, changes: unknown, index: unknown): Promise<void> {
  const change = Array.isArray(changes) && typeof index === "number" ? (changes[index] as { modifiedStartLineNumber: number }) : undefined;
  if (arg instanceof vscode.Uri && change) {
    await a.review.decideLine(decision, arg, change.modifiedStartLineNumber - 1);
    return;
  }
  const list = arg === LIST;
  const node = list ? a.selected() : arg;
  if (list && !node) {
    void vscode.window.showInformationMessage("Agent: nothing is selected in the list.");
  } else if (fileOf(node) && hunkId(node) === undefined) {
    await a.review.decideFile(decision, fileOf(node));
  } else {
    await a.review.decide(decision, hunkId(node));
  }
}

/** What a click on the status bar offers: what can be done in this state, the most likely first. */
async function showStatus(a: Agent): Promise<void> {
  const s = a.session.summary();
  const pick = (label: string, command: string, ...args: unknown[]) => ({ label, command, args });
  const ways: Record<string, ReturnType<typeof pick>[]> = {
    none: [pick("$(book) How to get the server", "agentLsp.openWalkthrough"), pick("$(gear) Name the program in the settings", "workbench.action.openSettings", "agentLsp.server.path")],
    untrusted: [pick("$(shield) Manage trust of this workspace", "workbench.trust.manage")],
    down: [pick("$(refresh) Start the server", "agentLsp.restart"), pick("$(output) Show its log", "agentLsp.showLog")],
    waiting: [pick("$(question) Answer what it asks", "agentLsp.permission"), pick("$(debug-pause) Pause", "agentLsp.pause"), pick("$(debug-stop) Cancel", "agentLsp.cancel")],
    running: [pick("$(debug-pause) Pause", "agentLsp.pause"), pick("$(debug-stop) Cancel", "agentLsp.cancel"), pick("$(arrow-circle-up) Escalate to another model", "agentLsp.escalate")],
    paused: [pick("$(debug-continue) Resume", "agentLsp.resume"), pick("$(debug-stop) Cancel", "agentLsp.cancel"), pick("$(arrow-circle-up) Escalate to another model", "agentLsp.escalate")],
  };
  const review = s.pending > 0 ? [pick("$(checklist) Review hunks", "agentLsp.review")] : [];
  const usual = [pick("$(comment-discussion) Ask", "agentLsp.ask"), pick("$(list-tree) Show context", "agentLsp.showContext"), pick("$(settings-gear) Choose model", "agentLsp.model"), pick("$(output) Show the server's log", "agentLsp.showLog")];
  const chosen = await vscode.window.showQuickPick([...(ways[s.state] ?? []), ...review, ...usual], { title: `Agent: ${s.state}${s.model ? `, ${s.model}` : ""}` });
  if (chosen) {
    await vscode.commands.executeCommand(chosen.command, ...chosen.args);
  }
}

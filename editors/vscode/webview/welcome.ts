/** The first minute: what works now, how to connect a model, what to try here. */
import type { HostState } from "../src/messages";
import { h } from "./dom";
import { post } from "./host";
import type { Store } from "./store";

const BUILT_IN = /^builtin/;
const NAMED_MAX = 3; // of the models that were found

/** What models there are, in one sentence. Pure. */
export function modelsSentence(models: readonly { name: string; available: boolean; current: boolean }[]): string {
  const current = models.find((m) => m.current);
  if (current && !BUILT_IN.test(current.name)) {
    return `The model is ${current.name}.`;
  }
  const others = models.filter((m) => m.available && !BUILT_IN.test(m.name)).map((m) => m.name);
  if (others.length > 0) {
    return `Found: ${others.slice(0, NAMED_MAX).join(", ")}.`;
  }
  return "For free-form work connect a model: start Ollama or llama.cpp, or set ANTHROPIC_API_KEY, OPENAI_API_KEY or GROQ_API_KEY.";
}

/** What to say and to offer while there is no server: words, then pairs of a label and a command. */
const SERVER: Record<Exclude<HostState["server"], "ready">, [string, ...[string, string][]]> = {
  none: ["The server agent-lsp was not found. Install it, or say in the setting agentLsp.server.path where it is.", ["How to begin", "agentLsp.openWalkthrough"]],
  untrusted: ["This workspace is not trusted, so the agent doesn't run here."],
  starting: ["Starting…"],
  down: ["The server ended.", ["Start it again", "agentLsp.restart"], ["Show its log", "agentLsp.showLog"]],
};

/** Shown as long as nothing was asked. */
export function welcome(store: Store, ask: (words: string) => void): HTMLElement[] {
  const link = (words: string, command: string) => h("button", { type: "button", class: "link", on: { click: () => post({ type: "command", command }) } }, words);
  const { host, index } = store;
  if (host.server !== "ready") {
    const [words, ...offers] = SERVER[host.server];
    return [h("p", { class: host.server === "starting" ? "dim" : "failed", role: "status" }, words), h("p", { class: "offers" }, ...offers.map(([label, command]) => link(label, command)))];
  }
  const out = [
    h("p", {}, "Ready, offline too: the built-in model answers where, what, how and who-calls questions with path:line, renames, replaces, and runs the tests."),
    h("p", { class: "dim" }, modelsSentence(store.models), " ", link("Choose a model", "agentLsp.model")),
  ];
  if (index?.state === "indexing") {
    out.push(h("p", { class: "dim" }, `Reading the project: ${index.done} of ${index.total} files. You can ask already.`));
  } else if (index?.state === "degraded") {
    out.push(h("p", { class: "wait" }, `The index is degraded: ${index.message ?? ""} Searching reads the files instead.`));
  } else if (index) {
    out.push(h("p", { class: "dim" }, `${index.files} files are indexed. / shows the commands, @ names a file or symbol.`));
  }
  const tips = host.status?.tips ?? [];
  if (tips.length > 0) {
    out.push(h("div", { class: "tips", role: "group", "aria-label": "Try" }, ...tips.map((tip) => h("button", { type: "button", class: "tip", on: { click: () => ask(tip) } }, tip))));
  }
  return out;
}

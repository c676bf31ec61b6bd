/** The chat view: joins the parts, draws what changed once per frame, and takes clicks and keys. */
import "./theme.css";
import "./chat.css";
import type { Call } from "../src/protocol";
import { Cards } from "./permission";
import { place } from "./markdown";
import { Dock } from "./dock";
import { h, setText } from "./dom";
import { Head } from "./head";
import { listen, post, request } from "./host";
import { fillPictures, lightbox } from "./pictures";
import { Prompt } from "./prompt";
import { Store } from "./store";
import { Tree } from "./tree";
import { welcome } from "./welcome";
import { count, duration } from "./words";

const TICK_MS = 100;
const AT_THE_BOTTOM = 24; // pixels from the end that still count as being there
const RESULT_BYTES_MAX = 4 << 20; // of an archived result that is opened in an editor
const PAGE_BYTES = 256 << 10;

const store = new Store((changes) => draw(changes));
const scroller = h("div", { class: "scroller" });
const tree = new Tree(store, scroller);
const first = h("section", { class: "welcome", "aria-label": "Welcome" });
const head = new Head(store);
const dock = new Dock(store);
const cards = new Cards(store);
const prompt = new Prompt(store);
const spoken = h("div", { class: "spoken", "aria-live": "assertive" });
const told = h("div", { class: "spoken", "aria-live": "polite" });
const down = h("button", { type: "button", class: "down", hidden: true, title: "Go to the end", "aria-label": "Go to the end", on: { click: () => follow() } }, "↓");

scroller.append(first, tree.el);
document.getElementById("root")!.append(head.el, h("div", { class: "stage" }, scroller, down), cards.el, dock.el, prompt.el, spoken, told);

// -- following the end: only while the person is there

let following = true;
let lastTop = 0;
scroller.addEventListener("scroll", () => {
  const rest = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight;
  if (scroller.scrollTop < lastTop - 1 || rest <= AT_THE_BOTTOM) {
    following = rest <= AT_THE_BOTTOM; // what grows below is no reason to stop following; going up is
  }
  lastTop = scroller.scrollTop;
  down.hidden = following;
}, { passive: true });

function follow(): void {
  following = true;
  stick();
}
function stick(): void {
  if (following) {
    scroller.scrollTop = scroller.scrollHeight;
    lastTop = scroller.scrollTop;
  }
  down.hidden = following;
}
new ResizeObserver(stick).observe(scroller);
new ResizeObserver(stick).observe(tree.el);

// -- drawing

function draw(changes: Parameters<Tree["draw"]>[0]): void {
  tree.draw(changes);
  const empty = store.model.cycles.length === 0 && store.answers.length === 0;
  first.hidden = !empty;
  if (empty) {
    first.replaceChildren(...(store.loaded || store.host.server !== "ready" ? welcome(store, (tip) => prompt.focus(tip)) : []));
  }
  head.draw();
  cards.draw();
  dock.draw();
  prompt.draw();
  fillPictures(tree.el);
  announce();
  stick();
}
tree.filled = () => fillPictures(tree.el);

let asked = new Set<string>();
let wasActive: string | undefined;
/** Says what waits for the person, and when the work is done. */
function announce(): void {
  const fresh = store.questions.filter((q) => !asked.has(q.id));
  asked = new Set(store.questions.map((q) => q.id));
  if (fresh[0]) {
    setText(spoken, `Action required: ${fresh[0].params.tool} wants to run ${fresh[0].params.title}`);
  }
  const active = store.active()?.id;
  if (wasActive !== undefined && active !== wasActive) {
    const meta = store.meta.cycles[wasActive];
    const { hunks } = store.pending();
    const ended = store.model.cycles.findLast((c) => c.id === wasActive)?.status;
    setText(told, `${ended === "completed" ? "Done" : ended} after ${duration(meta?.elapsedMs ?? 0)}${hunks > 0 ? `, ${count(hunks, "hunk")} to review` : ""}`);
  }
  wasActive = active;
}

setInterval(() => {
  if (!document.hidden && store.active()) {
    tree.tick();
  }
}, TICK_MS);

// -- clicks and keys

function openPlace(words: string): void {
  const at = place(words);
  post({ type: "openPath", path: at?.path ?? words, ...(at?.line !== undefined && { line: at.line }) });
}

/** A tool's whole result, in an editor; what was archived is fetched. */
async function openResult(callId: string): Promise<void> {
  const call = findCall(callId);
  const meta = store.meta.calls[callId];
  let text = call?.result?.text ?? "";
  if (meta?.ref) {
    text = "";
    for (let offset = 0, total = 1; offset < Math.min(total, RESULT_BYTES_MAX); offset += PAGE_BYTES) {
      const page = await request("agent/scratchpad", { ref: meta.ref, offset, limit: PAGE_BYTES });
      total = page.total;
      text += page.text;
    }
  }
  post({ type: "openText", title: meta?.title || call?.tool || "result", text });
}

function findCall(callId: string): Call | undefined {
  for (const c of store.model.cycles.toReversed()) {
    for (const s of c.steps?.toReversed() ?? []) {
      const call = s.type === "ai-block" ? s.groups.flatMap((g) => g.calls).find((x) => x.callId === callId) : undefined;
      if (call) {
        return call;
      }
    }
  }
  return undefined;
}

/** What a control inside of the tree does; false where there is none at that place. */
function act(el: HTMLElement): boolean {
  const at = el.closest<HTMLElement>("[data-do], [data-path], [data-url], img.picture");
  if (!at || !tree.el.contains(at)) {
    return false;
  }
  const code = at.closest(".code")?.querySelector("code")?.textContent ?? "";
  const { do: what, path, url } = at.dataset;
  if (at instanceof HTMLImageElement) {
    lightbox(at);
  } else if (path !== undefined) {
    openPlace(path);
  } else if (url !== undefined) {
    post({ type: "openExternal", url });
  } else if (what === "copy") {
    post({ type: "copy", text: code });
    at.textContent = "copied";
    at.addEventListener("blur", () => (at.textContent = "copy"), { once: true });
  } else if (what === "insert") {
    post({ type: "insert", text: code });
  } else if (what === "context") {
    post({ type: "command", command: "agentLsp.showContext", args: [at.dataset["plan"]] });
  } else if (what === "review") {
    post({ type: "command", command: "agentLsp.review" });
  } else if (what === "result") {
    void store.doing(() => openResult(at.dataset["call"]!));
  } else if (what === "resend") {
    void store.submit(at.dataset["text"]!, "auto");
  } else if (what === "approve") {
    void store.approve(at.dataset["turn"]!);
  } else if (what === "fold") {
    tree.fold(at.closest<HTMLElement>(".row")!);
  } else {
    return false;
  }
  return true;
}

tree.el.addEventListener("click", (e) => {
  const el = e.target as HTMLElement;
  if (act(el)) {
    e.preventDefault();
    return;
  }
  const row = el.closest<HTMLElement>(".row");
  if (row && !el.closest(".markdown") && getSelection()?.isCollapsed !== false) {
    tree.focusRow(row);
    tree.fold(row);
  }
});

tree.el.addEventListener("keydown", (e) => {
  const el = e.target as HTMLElement;
  const row = el.closest<HTMLElement>(".row");
  if (el instanceof HTMLImageElement && (e.key === "Enter" || e.key === " ")) {
    lightbox(el);
  } else if (row && el === row && (e.key === "Enter" || e.key === " ")) {
    enter(row);
  } else if (row && el === row && e.key === "o" && row.dataset["call"]) {
    void store.doing(() => openResult(row.dataset["call"]!));
  } else if (el.closest("button, a, pre") || !tree.key(e)) {
    return;
  }
  e.preventDefault();
});

/** Enter on a row: it folds; where there is nothing to fold, it does what its control does. */
function enter(row: HTMLElement): void {
  if (row.dataset["open"] !== undefined) {
    tree.fold(row);
  } else if (!act(row.querySelector<HTMLElement>("button[data-do]") ?? row) && row.dataset["place"]) {
    openPlace(row.dataset["place"]);
  }
}

listen((m) => {
  if (m.type === "focusPrompt") {
    prompt.focus(m.text);
  } else {
    store.take(m);
  }
});
window.addEventListener("focus", () => document.activeElement === document.body && prompt.focus());
store.changed("all");
post({ type: "ready" });

/** The context view: what the model was given, what was left out, and why. */
import "./theme.css";
import "./context.css";
import type { HostState } from "../src/messages";
import type { CyclesResult, PinParams, PlanDiff, PlanResult } from "../src/protocol";
import { button, h, setText } from "./dom";
import { HostError, listen, post, remember, remembered, request } from "./host";
import { bar, diffParts, isChange, matches, planBefore, planRows, SECTIONS, short, type PlanRow } from "./plan";
import { clean, count, firstLine, thousands, tokens } from "./words";

const root = document.getElementById("root")!;
const head = h("div", { class: "head" });
const filter = h("input", { type: "search", placeholder: "Filter rows", "aria-label": "Filter rows", class: "filter" });
const body = h("div", { class: "rows", role: "grid", "aria-label": "The context plan", tabindex: -1 });
const said = h("div", { class: "said", "aria-live": "polite" });
const keys = h("div", { class: "keys dim" });
root.append(head, body, said, keys);

let state: HostState | undefined;
let plan: PlanResult | undefined;
let turns: string[] = []; // of the branch, in order
let plans: string[] = []; // of the branch, in order
let diff: PlanDiff | undefined; // shown instead of the rows
let wanted = remembered<{ planId: string }>().planId;
let rows: PlanRow[] = [];
/** what the person decided in this view, by item id, until a later plan says it */
const decided = new Map<string, "pinned" | "excluded" | "neither">();

async function load(): Promise<void> {
  if (state?.server !== "ready") {
    return;
  }
  await doing(async () => {
    const [p, c] = await Promise.all([request("agent/plan", wanted ? { planId: wanted } : {}), request("agent/cycles", {}).catch(() => undefined)]);
    plan = p;
    takeCycles(c);
    diff = undefined;
    decided.clear();
    say("");
  });
  draw();
}

function takeCycles(c: CyclesResult | undefined): void {
  const metas = (c?.cycles ?? []).map((x) => c!.meta.cycles[x.id]);
  turns = metas.map((m) => m?.turnId ?? "");
  plans = metas.flatMap((m) => m?.plans ?? []);
}

async function doing(fn: () => Promise<void>): Promise<void> {
  try {
    await fn();
  } catch (fault) {
    say(fault instanceof HostError && fault.failure.code === "not_found" && !plan ? "Nothing was asked yet: no plan." : String((fault as Error).message));
  }
}

function say(words: string): void {
  setText(said, words);
}

// -- drawing

function draw(): void {
  head.replaceChildren();
  body.replaceChildren();
  keys.replaceChildren();
  if (!plan) {
    return;
  }
  head.append(...headContent(plan));
  if (diff) {
    body.append(...diffContent(plan, diff));
  } else {
    rows = planRows(plan).filter((r) => matches(r, filter.value));
    body.append(...rows.map((r, i) => rowElement(r, i)));
  }
  keys.append(...(diff ? [hint("d", "back to the plan")] : [hint("p", "pin"), hint("x", "exclude"), hint("u", "neither"), hint("Enter", "open"), hint("d", "compare with the previous plan"), hint("f", "filter")]));
}

function hint(key: string, words: string): HTMLElement {
  return h("span", {}, h("kbd", {}, key), ` ${words}`);
}

/** "turn 4" of the branch. */
function turnOf(p: PlanResult): string {
  const at = turns.indexOf(p.turnId) + 1;
  return at > 0 ? `turn ${at}, ` : "";
}

function headContent(p: PlanResult): (Node | string)[] {
  const at = plans.lastIndexOf(p.planId);
  const step = (by: number, label: string, sign: string) =>
    button(label, () => go(plans[at + by]), { class: "quiet", disabled: at < 0 || plans[at + by] === undefined }, sign);
  const facts = [`${turnOf(p)}call ${p.call}`, p.model, `${count(p.included.length, "item")} in`, `${p.excluded.length} out`];
  return [
    h("div", { class: "title" },
      h("h2", {}, h("b", { title: p.planId }, `Plan ${short(p.planId)}`), h("span", { class: "dim" }, ` · ${facts.join(" · ")}`),
        p.replay && h("span", { class: p.replay === "identical" ? "same" : "failed", title: "What building it again from its stored inputs gives" }, ` · ${p.replay} on replay ${p.replay === "identical" ? "✓" : "✗"}`)),
      h("span", { class: "grow" }), step(-1, "The plan before", "‹"), step(1, "The plan after", "›"), filter),
    barElement(p),
    ...(p.overflow ? [h("p", { class: "wait" }, `⚠ the request was cut from ${p.overflow.from} to ${p.overflow.to} tokens`)] : []),
  ];
}

/** The colours of the bar's pieces are the sections'; the legend says the same in words. */
function barElement(p: PlanResult): HTMLElement {
  const pieces = bar(p.sections, p.budget.prompt);
  const words = `${tokens(p.budget.estimated)} of ${tokens(p.budget.prompt)} tokens`;
  const strip = h("div", { class: "bar", role: "img", "aria-label": `${words}: ${pieces.map((x) => `${x.section} ${tokens(x.tokens)}`).join(", ")}` });
  for (const piece of pieces) {
    const el = h("span", { class: `piece ${sectionClass(piece.section)}`, title: `${piece.section} ${tokens(piece.tokens)}` });
    el.style.flexBasis = `${piece.share * 100}%`;
    strip.append(el);
  }
  const legend = pieces.map((x) => h("button", { type: "button", class: "legend", title: `Show only ${x.section}`, on: { click: () => show(x.section) } },
    h("span", { class: `swatch ${sectionClass(x.section)}`, "aria-hidden": "true" }), x.section, h("span", { class: "number" }, ` ${tokens(x.tokens)}`)));
  return h("div", { class: "budget" }, h("div", { class: "strip" }, strip, h("span", { class: "number sum" }, words)), h("div", { class: "legends" }, ...legend));
}

function sectionClass(section: string): string {
  return `section-${Math.max(0, SECTIONS.indexOf(section))}`;
}

function show(words: string): void {
  filter.value = filter.value === words ? "" : words;
  draw();
}

function rowElement(r: PlanRow, i: number): HTMLElement {
  const { item, label } = r;
  const mark = decided.get(item.id) ?? (label.pinned ? "pinned" : undefined);
  const cell = (className: string, ...children: (Node | string)[]) => h("span", { class: className, role: "gridcell" }, ...children);
  const act = (key: string, words: string, fn: () => void) => button(words, fn, { class: "action", tabindex: -1, title: `${words} (${key})` }, words);
  return h("div", { class: `plan-row ${r.included ? "in" : "out"}`, role: "row", tabindex: i === 0 ? 0 : -1, data: { row: String(i) } },
    cell("side", r.included ? "in" : "out"),
    cell(`name-of-section ${sectionClass(item.section)}`, item.section),
    cell("name", label.uri ? h("a", { href: "#", tabindex: -1, title: "Open", on: { click: (e) => { e.preventDefault(); open(r); } } }, r.name) : clean(r.name)),
    cell("tokens number", thousands(item.tokens)),
    cell("why", h("span", { class: "reason" }, item.reason), mark ? h("span", { class: "mark" }, ` ${mark}`) : "", r.said ? h("span", { class: "dim" }, ` ${r.said}`) : ""),
    h("span", { class: "actions", role: "gridcell" }, act("p", "pin", () => void pin(r)), act("x", "exclude", () => void exclude(r)), mark === "pinned" || mark === "excluded" ? act("u", "neither", () => void unpin(r)) : ""));
}

function diffContent(p: PlanResult, d: PlanDiff): HTMLElement[] {
  const title = h("h3", {}, `Plan ${short(d.b)} compared with ${short(d.a)}`);
  if (d.identical) {
    return [title, h("p", { class: "dim" }, "identical")];
  }
  const sizes = h("p", { class: "dim" }, `${tokens(d.budgetB.estimated)} of ${tokens(d.budgetB.prompt)} tokens, before ${tokens(d.budgetA.estimated)} of ${tokens(d.budgetA.prompt)}; begins with ${count(d.kept, "item")} of the plan before`);
  const parts = diffParts(d).flatMap((part) => [
    h("h3", {}, `${part.title} (${part.items.length})`),
    ...part.items.map((item, i) =>
      h("div", { class: `plan-row ${part.sign === "−" ? "out" : "in"}`, role: "row", tabindex: -1, data: { row: `${part.title}/${i}` } },
        h("span", { class: "side", role: "gridcell" }, part.sign),
        h("span", { class: `name-of-section ${sectionClass(item.section)}`, role: "gridcell" }, item.section),
        h("span", { class: "name", role: "gridcell" }, firstLine(p.labels?.[item.id]?.label ?? item.id).line),
        h("span", { class: "tokens number", role: "gridcell" }, thousands(item.tokens)),
        h("span", { class: "why", role: "gridcell" }, h("span", { class: "reason" }, item.reason),
          isChange(item) ? h("span", { class: "dim" }, `, before ${item.before.reason} ${thousands(item.before.tokens)}`) : h("span", { class: "dim" }, ` ${item.detail ?? ""}`)))),
  ]);
  return [title, sizes, ...parts];
}

// -- what the person does

function go(planId: string | undefined): void {
  if (planId !== undefined) {
    wanted = planId;
    remember({ planId });
    void load();
  }
}

function open(r: PlanRow): void {
  if (r.label.uri) {
    const line = (r.label.startLine ?? 1) - 1;
    post({ type: "open", uri: r.label.uri, range: { start: { line, character: 0 }, end: { line: r.label.endLine ?? line, character: 0 } } });
  } else {
    say("this item has no file to open");
  }
}

/** What a pin names: a piece of a file, or a message. */
function target(r: PlanRow): PinParams {
  const { uri, startLine, endLine } = r.label;
  if (!uri) {
    return { messageId: r.item.id };
  }
  return { uri, ...(startLine && endLine && { range: { start: { line: startLine - 1, character: 0 }, end: { line: endLine, character: 0 } } }) };
}

async function decide(r: PlanRow, as: "pinned" | "excluded" | "neither", words: string): Promise<void> {
  await doing(async () => {
    await (as === "neither" ? request("agent/unpin", target(r)) : request("agent/pin", { ...target(r), ...(as === "excluded" && { exclude: true }) }));
    decided.set(r.item.id, as);
    const at = focusedRow();
    draw();
    focusRow(at);
    say(`${r.name} ${words}, from the next call on`);
  });
}
const pin = (r: PlanRow) => decide(r, "pinned", "is pinned");
const exclude = (r: PlanRow) => decide(r, "excluded", "stays out");
const unpin = (r: PlanRow) => decide(r, "neither", "is neither pinned nor excluded");

async function compare(): Promise<void> {
  if (diff || !plan) {
    diff = undefined;
    draw();
    return;
  }
  const before = planBefore(plans, plan.planId);
  if (!before) {
    say("this is the branch's first plan");
    return;
  }
  const b = plan.planId;
  await doing(async () => {
    diff = await request("agent/plan/diff", { a: before, b });
    draw();
  });
  focusRow(0);
}

// -- keys

function focusedRow(): number {
  return Number((document.activeElement as HTMLElement | null)?.closest<HTMLElement>(".plan-row")?.dataset["row"] ?? -1);
}

function focusRow(i: number): void {
  const all = [...body.querySelectorAll<HTMLElement>(".plan-row")];
  const to = all[Math.max(0, Math.min(all.length - 1, i))];
  all.forEach((el) => (el.tabIndex = -1));
  if (to) {
    to.tabIndex = 0;
    to.focus();
    to.scrollIntoView({ block: "nearest" });
  }
}

const onRow: Record<string, (r: PlanRow) => void> = { p: (r) => void pin(r), x: (r) => void exclude(r), u: (r) => void unpin(r), Enter: open };

document.addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey) {
    return;
  }
  if (e.target === filter) {
    if (e.key === "Escape") {
      filter.value = "";
      draw();
    }
    if (["Escape", "Enter", "ArrowDown"].includes(e.key)) {
      e.preventDefault();
      focusRow(0);
    }
    return;
  }
  const r = rows[focusedRow()];
  const moves: Record<string, number> = { ArrowDown: focusedRow() + 1, ArrowUp: focusedRow() - 1, Home: 0, End: Infinity };
  if (e.key in moves) {
    focusRow(moves[e.key]!);
  } else if (e.key === "f") {
    filter.focus();
  } else if (e.key === "d") {
    void compare();
  } else if (r && !diff && onRow[e.key] && !(e.target instanceof HTMLButtonElement || e.target instanceof HTMLAnchorElement)) {
    onRow[e.key]!(r);
  } else {
    return;
  }
  e.preventDefault();
});
filter.addEventListener("input", () => {
  const caret = filter.selectionStart;
  draw();
  filter.focus();
  filter.setSelectionRange(caret, caret);
});

listen((m) => {
  if (m.type === "state") {
    const other = state?.sessionId !== m.state.sessionId || state?.branchId !== m.state.branchId || state?.server !== m.state.server;
    if (state && other) {
      wanted = undefined;
    }
    state = m.state;
    if (other) {
      void load();
    }
  } else if (m.type === "showPlan") {
    wanted = m.planId;
    void load();
  } else if (m.type === "notification" && m.method === "agent/cycle" && wanted === undefined && m.params.meta?.some((x) => x.cycleMeta?.planId && x.cycleMeta.planId !== plan?.planId)) {
    void load(); // follows the latest plan unless the person chose one
  }
});
post({ type: "ready" });

/** What the context view says: the rows of a plan, its budget bar, and what differs between two. Pure. */
import type { Change, PlanDiff, PlanItem, PlannedItem, PlanResult, RetrievalWhy, SectionSum } from "../src/protocol";
import { firstLine } from "./words";

/** The sections in the order in which they are sent; each has its colour by its place here. */
export const SECTIONS = ["system", "instructions", "pinned", "memory", "summary", "history", "retrieval", "focus", "reflection", "request"];

const SHORT_ID = 7;

/** The first letters of an id's hash. */
export function short(id: string): string {
  return id.replace(/^plan[-_:]/, "").slice(0, SHORT_ID);
}

export interface PlanRow {
  included: boolean;
  item: PlannedItem;
  label: PlanItem;
  name: string;
  /** behind the reason: the rankers, the numbers, who depends on it */
  said: string;
}

/** "bm25 #1 · symbol #2" */
function rankers(why: RetrievalWhy[] | undefined): string {
  return (why ?? []).map((w) => `${w.ranker} #${w.rank}`).join(" · ");
}

function rowOf(item: PlannedItem, label: PlanItem, included: boolean): PlanRow {
  const why = rankers(label.why);
  const detail = firstLine(item.detail ?? "").line;
  const words = [label.pinned && item.reason !== "pinned" ? "pinned" : "", ...(included ? [why, detail] : [detail, why])];
  return { included, item, label, name: firstLine(label.label).line, said: words.filter((w) => w !== "" && w !== item.reason).join(" · ") };
}

/** All rows, as sent; what is out is below. */
export function planRows(plan: PlanResult): PlanRow[] {
  const label = (i: PlannedItem) => plan.labels?.[i.id] ?? { label: i.id };
  return [...plan.included.map((i) => rowOf(i, label(i), true)), ...plan.excluded.map((i) => rowOf(i, label(i), false))];
}

/** Whether every word is somewhere in the row. */
export function matches(row: PlanRow, filter: string): boolean {
  const text = `${row.included ? "in" : "out"} ${row.item.section} ${row.name} ${row.item.tokens} ${row.item.reason} ${row.said}`.toLowerCase();
  return filter.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

export interface Piece {
  section: string;
  /** of the bar's width, 0 to 1; what is there can be seen */
  share: number;
  tokens: number;
}

const SHARE_MIN = 0.006;

/** The bar's pieces in the order of the sections. */
export function bar(sections: readonly SectionSum[], budget: number): Piece[] {
  const all = sections.filter((s) => s.tokens > 0).map((s) => ({ section: s.section, tokens: s.tokens, share: Math.max(SHARE_MIN, s.tokens / Math.max(1, budget)) }));
  const sum = all.reduce((n, p) => n + p.share, 0);
  return sum > 1 ? all.map((p) => ({ ...p, share: p.share / sum })) : all;
}

export interface DiffPart {
  title: string;
  sign: "+" | "−" | "±";
  items: (PlannedItem | Change)[];
}

/** What differs from one plan to the next, the most telling first; empty parts are left out. */
export function diffParts(d: PlanDiff): DiffPart[] {
  const parts: DiffPart[] = [
    { title: "in now, out before", sign: "+", items: d.in },
    { title: "out now, in before", sign: "−", items: d.out },
    { title: "new, in", sign: "+", items: d.new },
    { title: "new, out", sign: "−", items: d.newOut },
    { title: "no candidate any more", sign: "−", items: d.gone },
    { title: "another reason or size", sign: "±", items: d.changed },
  ];
  return parts.filter((p) => (p.items ?? []).length > 0);
}

export function isChange(item: PlannedItem | Change): item is Change {
  return "before" in item;
}

/** The plan before this one among a cycle's or a branch's plans, in order. */
export function planBefore(plans: readonly string[], planId: string): string | undefined {
  const at = plans.lastIndexOf(planId);
  return at > 0 ? plans[at - 1] : undefined;
}

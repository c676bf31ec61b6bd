/** What is looked back at, as Markdown that the editor's own preview shows: traces, comparisons of branches. Pure. */
import { GLYPHS, duration, tokens } from "./glyphs";
import type { BranchComparison, BranchSide, TraceCall, TraceResult, UsageReport } from "./protocol";

const CELL_MAX = 120; // characters in a table's cell
const ROUND_MAX = 200_000; // characters of what was sent, and of what came back, per call

const SIGNS: Record<string, string> = {
  ok: GLYPHS.unicode.done, error: GLYPHS.unicode.failed, refused: GLYPHS.unicode.refused, cancelled: GLYPHS.unicode.cancelled,
};

function cell(text: string): string {
  const line = text.split("\n")[0]!;
  const cut = line.length > CELL_MAX ? line.slice(0, CELL_MAX) + "…" : line;
  return cut.replace(/[\\`*_{}[\]()#|<>~!]/g, "\\$&");
}

function table(head: string[], align: string, rows: string[][]): string {
  const rule = [...align].map((a) => (a === "r" ? "---:" : "---"));
  return [head, rule, ...rows].map((r) => `| ${r.join(" | ")} |`).join("\n");
}

function fenced(text: string, language: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map((m) => m[0].length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}

function calls(list: readonly TraceCall[]): string {
  return list.length === 0
    ? "None."
    : table(["", "tool", "what", "model call", "took"], "lllrr", list.map((c) => [
        SIGNS[c.status] ?? "·", cell(c.tool), cell(c.title || JSON.stringify(c.args)), String(c.round), duration(c.ms),
      ]));
}

function usage(list: readonly UsageReport[]): string {
  return list.length === 0
    ? "None."
    : table(["call", "model", "in", "estimated", "out", "cache read", "cache written", "cost", "first", "took"], "rlrrrrrrrr", list.map((u) => [
        String(u.round), cell(u.model), tokens(u.input), tokens(u.estimated), tokens(u.output), tokens(u.cacheRead), tokens(u.cacheWrite),
        u.costUsd > 0 ? `$${u.costUsd.toFixed(3)}` : "", duration(u.firstMs), duration(u.ms),
      ]));
}

function json(v: unknown): string {
  const text = JSON.stringify(v, undefined, 2) ?? "";
  return text.length > ROUND_MAX ? `${text.slice(0, ROUND_MAX)}\n… ${text.length - ROUND_MAX} more characters` : text;
}

export function trace(t: TraceResult): string {
  const rounds = t.rounds.flatMap((r) => [`### Call ${r.round}, plan ${r.planId}`, "What was sent:", fenced(json(r.request), "json"), "What came back:", fenced(json(r.response), "json")]);
  return [
    `# Trace of turn ${t.turnId}`, `## Tool calls (${t.calls.length})`, calls(t.calls), `## Model calls (${t.usage.length})`, usage(t.usage),
    ...(rounds.length > 0 ? ["## Raw rounds", ...rounds] : []),
  ].join("\n\n") + "\n";
}

function side(s: BranchSide): string {
  return [
    `## ${cell(s.branch.name)}`, s.input ? `> ${cell(s.input)}` : "Nothing was asked on this branch yet.",
    "Tool calls:", calls(s.calls), "Model calls:", usage(s.usage),
    ...(s.outcome?.response ? ["Answer:", fenced(s.outcome.response.content, "markdown")] : []),
    ...s.diffs.flatMap((d) => [`\`${d.path}\``, fenced(d.diff, "diff")]),
  ].join("\n\n");
}

const list = (items: readonly string[]) => (items.length === 0 ? "None." : items.map((i) => `- ${cell(i)}`).join("\n"));

export function comparison(c: BranchComparison): string {
  return [
    `# ${cell(c.a.branch.name)} and ${cell(c.b.branch.name)}`, side(c.a), side(c.b),
    "## Evidence", "Of both:", list(c.shared), `Of ${cell(c.a.branch.name)} alone:`, list(c.onlyA), `Of ${cell(c.b.branch.name)} alone:`, list(c.onlyB),
    ...(c.plans ? ["## Plans", c.plans.identical ? "Identical." : `${c.plans.kept} items at the beginning are the same; ${c.plans.in.length + c.plans.new.length} came in, ${c.plans.out.length + c.plans.gone.length} went out.`] : []),
  ].join("\n\n") + "\n";
}

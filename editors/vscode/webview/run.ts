/**
 * Rows of what the server tells beside the steps: the route and the message's chips, what happened to the run, the
 * workflow's checklist, a call's own loop. The words and glyphs are those of the terminal and of Neovim.
 */
import type { Call, Chip, Cycle, CycleMeta, Workflow, WorkflowStep } from "../src/protocol";
import { metaOf, nameOf } from "./calls";
import { h } from "./dom";
import type { Glyphs } from "./glyphs";
import { isOpen, row, type Scene } from "./step";
import { cost, count, duration, firstLine, tokens } from "./words";

const CHIPS_MAX = 4; // in one row
const ALL = "ALL"; // every tool: nothing to tell

function chips(list: readonly Chip[]): HTMLElement[] {
  const shown = list.slice(0, CHIPS_MAX).map((c) => h("span", { class: `chip ${c.kind}`, title: c.detail || c.kind }, firstLine(c.text).line));
  const rest = list.slice(CHIPS_MAX);
  return rest.length > 0 ? [...shown, h("span", { class: "dim", title: rest.map((c) => c.text).join(" ") }, `+${rest.length}`)] : shown;
}

/** Which tools the model was told of, where not of all, and what the message said beside its words. */
export function routeRow(c: Cycle, meta: CycleMeta | undefined, g: Glyphs): HTMLElement[] {
  const route = meta?.route ?? "";
  const narrow = route !== "" && route !== ALL;
  const said = meta?.chips ?? [];
  if (!narrow && said.length === 0) {
    return [];
  }
  const why = narrow && meta?.routeWhy ? `${g.between}${firstLine(meta.routeWhy).line}` : "";
  return [row(`${c.id}/route`, { level: 2, class: "route", glyph: g.route }, ["route  ", h("span", { class: "dim" }, route + why)], chips(said))];
}

/** Retries, escalations, and what left the context, with the handle that gives it back. */
export function noteRows(c: Cycle, meta: CycleMeta | undefined, g: Glyphs): HTMLElement[] {
  return (meta?.notes ?? []).map((n, i) =>
    row(`${c.id}/note/${i}`, { level: 2, class: "note dim", glyph: n.kind === "compaction" ? g.compaction : g.warn }, [`${n.kind}: ${firstLine(n.text).line}`], n.ref ? [`ref:${n.ref}`] : []));
}

/** How far a workflow is. Pure. */
export function progress(w: Workflow): string {
  if (w.status === "proposed") {
    return `${count(w.steps.length, "step")} proposed, nothing is done yet`;
  }
  const of = (status: string) => w.steps.filter((s) => s.status === status).length;
  const skipped = of("skipped");
  return `${of("done")} of ${count(w.steps.length, "step")} done${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}

/** A step's glyph, its class, and what stands at its right. iter is how far the run is. Pure. */
export function stepWords(s: WorkflowStep, active: boolean, iter: number, g: Glyphs): { glyph: string; state: string; right: string } {
  const note = firstLine(s.note ?? "").line;
  switch (s.status) {
    case "done":
      return { glyph: g.done, state: "done", right: note };
    case "failed":
      return { glyph: g.failed, state: "failed", right: note };
    case "skipped":
      return { glyph: g.cancelled, state: "dim", right: note ? `skipped: ${note}` : "skipped" };
    case "running": {
      if (!active) {
        return { glyph: g.cancelled, state: "dim", right: "not finished" }; // the run ended in the middle of it
      }
      const n = iter - (s.started ?? 0);
      const words = [...((s.try ?? 0) > 1 ? [`try ${s.try}`] : []), ...(n > 0 ? [`iteration ${n} of ${s.budget}`] : [])];
      return { glyph: g.running, state: "running", right: words.join(g.between) };
    }
    default:
      return { glyph: g.queued, state: "", right: note };
  }
}

/** The checklist of a turn, live; folded to its first row once all is done. A proposal of the latest turn can be approved. */
export function workflowRows(scene: Scene, c: Cycle, meta: CycleMeta | undefined, latest: boolean): HTMLElement[] {
  const w = meta?.workflow;
  if (!w) {
    return [];
  }
  const g = scene.glyphs;
  const key = `${c.id}/workflow`;
  const open = isOpen(scene, key, w.status !== "done");
  const right = w.status === "failed" ? [h("span", { class: "failed" }, "failed")]
    : w.status === "proposed" && latest ? [h("button", { type: "button", class: "link wait", title: "Carry these steps out", data: { do: "approve", turn: meta.turnId } }, `${g.waiting} approve`)] : [];
  const head = row(key, { level: 2, class: "workflow", open, glyph: g.workflow, label: `workflow, ${progress(w)}` }, ["workflow  ", h("span", { class: "dim" }, progress(w))], right);
  const steps = open ? w.steps : [];
  return [head, ...steps.map((s, i) => {
    const is = stepWords(s, c.status === "active", meta.iter, g);
    return row(`${key}/${i + 1}`, { level: 3, class: `workflow-step ${is.state}`, glyph: is.glyph, glyphClass: is.state, label: `step ${i + 1}, ${s.status}: ${firstLine(s.goal).line}` },
      [h("span", { class: "number" }, `${i + 1}  `), firstLine(s.goal).line], is.right ? [h("span", { class: is.state === "failed" ? "failed" : "dim" }, is.right)] : []);
  })];
}

/** A call's own loop: where it stands, what it took, and while it runs what it does now; opened, all that it asked for. */
export function subtaskRows(scene: Scene, call: Call, key: string, alone: boolean, active: boolean): HTMLElement[] {
  const { meta, glyphs: g } = scene;
  const m = metaOf(meta, call);
  const sub = m.subtask;
  if (!sub) {
    return [];
  }
  const status = call.result?.status;
  const running = active && !status;
  const glyph = running ? g.running : !status || status === "cancelled" ? g.cancelled : status === "error" ? g.failed : g.done;
  const totals = [
    running ? `step ${sub.iter} of ${sub.max}` : count(sub.iter, "step"), count(sub.asked, "call"),
    sub.tokens > 0 ? `${tokens(sub.tokens)} tok` : "", cost(sub.costUsd), status && status !== "cancelled" ? duration(m.ms ?? 0) : "",
  ].filter((w) => w !== "");
  const name = alone ? "subtask" : nameOf(meta, call, false);
  const own = `${key}/subtask`;
  const open = isOpen(scene, own, false);
  const shown = open ? sub.calls : running ? sub.calls.slice(-1) : [];
  return [
    row(own, { level: 4, class: "subtask", open, glyph, glyphClass: status === "error" ? "error" : running ? "running" : "", label: `${name}, ${totals.join(", ")}` },
      [name], [h("span", { class: status === "error" ? "failed" : "number" }, totals.join(g.between))]),
    ...shown.map((words, i) => row(`${own}/${i}`, { level: 5, class: "dim", glyph: "" }, [firstLine(words).line])),
  ];
}

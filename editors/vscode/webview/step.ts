/** The rows of one step: its text, and below it the calls, folded to a row for each run of the same tool. */
import type { Call, Cycle, CyclesMeta, Group, GroupType, Step } from "../src/protocol";
import { detailOf, hunksOf, metaOf, nameOf, namesOf, placeOf, quoteOf, runs, standing, took, type Place, type Run, type Standing } from "./calls";
import { h } from "./dom";
import type { Glyphs } from "./glyphs";
import { icon, type Icon } from "./icons";
import { plain, StreamingText } from "./markdown";
import { subtaskRows } from "./run";
import { clean, count, duration, firstLine } from "./words";

const QUOTE_LINES_MAX = 3; // of a failed call's result
const RESULT_LINES_MAX = 40; // of an opened call's result; the rest opens in an editor

/** All that drawing a step takes. */
export interface Scene {
  meta: CyclesMeta;
  glyphs: Glyphs;
  /** hunks to review by call id */
  pending: ReadonlyMap<string, number>;
  /** what the person opened or closed, by row key */
  folds: ReadonlyMap<string, boolean>;
}

export interface StepView {
  el: HTMLElement;
  /** the ids of the calls that it shows */
  calls: string[];
  /** the text that may still grow */
  text?: StreamingText;
}

interface RowOptions {
  level: number;
  class?: string;
  /** whether what belongs to the row is shown; absent: there is nothing to fold */
  open?: boolean;
  glyph: string;
  glyphClass?: string;
  label?: string;
  place?: Place | undefined;
  call?: string;
}

/** One line: a glyph, what it says, and at the right edge what was measured. */
export function row(key: string, o: RowOptions, left: (Node | string)[], right: (Node | string)[] = []): HTMLElement {
  return h(
    "div",
    {
      class: `row level-${o.level} ${o.class ?? ""}`,
      role: "treeitem",
      tabindex: -1,
      "aria-level": o.level,
      "aria-expanded": o.open,
      "aria-label": o.label,
      data: { key, ...(o.call && { call: o.call }), ...(o.place && { place: `${o.place.path}:${o.place.line}` }), ...(o.open !== undefined && { open: String(o.open) }) },
    },
    h("span", { class: `glyph ${o.glyphClass ?? ""}`, "aria-hidden": "true" }, o.glyph),
    h("span", { class: "what" }, ...left),
    right.length > 0 && h("span", { class: "right" }, ...right),
  );
}

/** Whether a row is open: as the person said, else as it is by itself. */
export function isOpen(scene: Scene, key: string, byItself: boolean): boolean {
  return scene.folds.get(key) ?? byItself;
}

const ICONS: Record<GroupType, Icon> = { "read-group": "read", "write-group": "write", "bash-group": "bash", "other-group": "other" };

export function stepView(scene: Scene, c: Cycle, index: number): StepView {
  const step = c.steps![index]!;
  const key = `${c.id}/${index}`;
  const view: StepView = { el: h("div", { class: "step" }), calls: [] };
  const active = c.status === "active";
  if (step.type !== "ai-block") {
    view.el.append(steer(scene, c, step, key));
    return view;
  }
  const latest = index === c.steps!.length - 1;
  textItem(scene, view, step, key, { active, inFull: latest && (!active || step.groups.length === 0) });
  for (const [i, group] of step.groups.entries()) {
    for (const run of runs(group)) {
      runOfCalls(scene, view, group, run, `${key}/${i}/${run.from}`, active);
    }
  }
  return view;
}

/** The assistant's or the reasoner's text: one line, unless it is the latest, the answer, or opened. */
function textItem(scene: Scene, view: StepView, step: Extract<Step, { type: "ai-block" }>, key: string, o: { active: boolean; inFull: boolean }): void {
  const { kind, text } = step.text;
  const reasoning = kind === "reasoning";
  const tag = reasoning ? [h("span", { class: "dim" }, "reasoning")] : [];
  const glyph = scene.glyphs.text;
  if (text.trim() === "") {
    if (step.groups.length === 0 && o.active) {
      view.el.append(row(key, { level: 2, class: "text waiting", glyph }, [], tag));
      view.text = new StreamingText(); // what comes begins it
    }
    return;
  }
  const { line, more } = firstLine(text);
  const foldable = more > 0 || line.length > 60 || reasoning;
  const open = isOpen(scene, key, o.inFull && !reasoning);
  if (!open) {
    const right = more > 0 ? [...tag, h("span", { class: "number" }, ` +${more}`)] : tag;
    view.el.append(row(key, { level: 2, class: reasoning ? "text reasoning" : "text", open: foldable ? false : undefined, glyph }, [plain(line)], right));
    return;
  }
  const body = new StreamingText();
  view.el.append(
    h("div", { class: `row level-2 text full ${reasoning ? "reasoning" : ""}`, role: "treeitem", tabindex: -1, "aria-level": 2, "aria-expanded": true, data: { key, open: "true" } },
      h("span", { class: "glyph", "aria-hidden": "true", data: { do: "fold" } }, glyph), body.el),
  );
  if (o.active && o.inFull) {
    view.text = body;
    body.update(text);
  } else {
    body.finish(text);
  }
}

function steer(scene: Scene, c: Cycle, step: { id: string; text: string }, key: string): HTMLElement {
  const unread = scene.meta.cycles[c.id]?.unread?.includes(step.id) ?? false;
  const over = c.status !== "active";
  const { line, more } = firstLine(step.text);
  const open = isOpen(scene, key, false);
  const right: (Node | string)[] = [h("span", { class: unread && over ? "wait" : "dim" }, unread ? `steer${scene.glyphs.between}${over ? "never read" : "unread"}` : "steer")];
  if (unread && over) {
    right.push(h("button", { type: "button", class: "link", data: { do: "resend", text: step.text } }, "send again"));
  }
  return row(key, { level: 2, class: "steer", open: more > 0 ? open : undefined, glyph: scene.glyphs.steer },
    [h("b", {}, "you: "), open ? clean(step.text) : line, more > 0 && !open ? ` (+${more})` : ""], right);
}

const WAITS = new Set(["running", "asking"]);

/** What stands at the right edge. One call that failed is told by its glyph and by what is quoted. */
function figures(stand: Standing, alone: boolean, hunks: number, ms: number | undefined, g: Glyphs): (Node | string)[] {
  return [
    ...(stand.words && !(alone && stand.state === "error") ? [h("span", { class: `state ${stand.state}` }, stand.words)] : []),
    ...(hunks > 0 ? [h("button", { type: "button", class: "link wait", title: "Review the hunks", data: { do: "review" } }, `${g.waiting} ${count(hunks, "hunk")} to review`)] : []),
    ...(ms !== undefined && hunks === 0 ? [h("span", { class: "number" }, duration(ms))] : []),
  ];
}

function target(meta: CyclesMeta, calls: Call[], g: Glyphs): (Node | string)[] {
  return namesOf(meta, calls).flatMap(({ name, place }, i) => [
    i > 0 ? g.between : "",
    place ? h("a", { href: "#", tabindex: -1, data: { path: `${place.path}:${place.line}` }, title: `Open ${place.path}` }, name) : name,
  ]);
}

function runOfCalls(scene: Scene, view: StepView, group: Group, run: Run, key: string, active: boolean): void {
  const { meta, glyphs: g } = scene;
  const { calls } = run;
  view.calls.push(...calls.map((c) => c.callId));
  const stand = standing(meta, calls, active, g);
  const open = isOpen(scene, key, false);
  const fold = open ? g.open : g.closed;
  const names = namesOf(meta, calls).map((n) => n.name).join(", ");
  view.el.append(
    row(
      key,
      {
        level: 3, class: `calls ${stand.state}`, open, glyph: stand.glyph ?? fold, glyphClass: stand.glyph ? stand.state : "fold", place: placeOf(meta, calls[0]!),
        label: `${run.tool} ${calls.length}: ${names}${stand.words ? `, ${stand.words}` : ""}`, ...(calls.length === 1 && { call: calls[0]!.callId }),
      },
      [icon(ICONS[group.type]), h("span", { class: "tool" }, clean(run.tool)), h("span", { class: "count" }, String(calls.length)), h("span", { class: "target" }, ...target(meta, calls, g))],
      figures(stand, calls.length === 1, hunksOf(scene.pending, calls), WAITS.has(stand.state) ? undefined : took(meta, calls), g),
    ),
  );
  for (const call of calls) {
    const whole = open && calls.length > 1;
    if (!whole) {
      view.el.append(...subtaskRows(scene, call, `${key}/${call.callId}`, calls.length === 1, active));
    }
    if (!open) {
      quote(scene, view, call, active, false, 3);
    } else if (calls.length === 1) {
      quote(scene, view, call, active, true, 3);
    } else {
      one(scene, view, call, `${key}/${call.callId}`, active);
      view.el.append(...subtaskRows(scene, call, `${key}/${call.callId}`, true, active));
    }
  }
}

/** One call of an opened run, and its result when it is opened itself. */
function one(scene: Scene, view: StepView, call: Call, key: string, active: boolean): void {
  const { meta, glyphs: g } = scene;
  const stand = standing(meta, [call], active, g);
  const open = isOpen(scene, key, false);
  const came = call.tool === "read" ? detailOf(meta, call).summary : undefined;
  const place = placeOf(meta, call);
  const name = nameOf(meta, call, false);
  view.el.append(
    row(
      key,
      { level: 4, class: `call ${stand.state}`, open, glyph: stand.glyph ?? (open ? g.open : g.closed), glyphClass: stand.glyph ? stand.state : "fold", place, call: call.callId },
      [place && call.tool !== "bash" ? h("a", { href: "#", tabindex: -1, data: { path: `${place.path}:${place.line}` } }, name) : name, came ? h("span", { class: "dim" }, `  ${came}`) : ""],
      figures(stand, true, 0, call.result ? metaOf(meta, call).ms : undefined, g),
    ),
  );
  quote(scene, view, call, active, open, 4);
}

function quote(scene: Scene, view: StepView, call: Call, active: boolean, whole: boolean, level: number): void {
  const body = quoteOf(scene.meta, call, active, whole);
  if (body === "") {
    return;
  }
  const lines = body.split(/\r\n?|\n/);
  const max = whole ? RESULT_LINES_MAX : QUOTE_LINES_MAX;
  const ref = metaOf(scene.meta, call).ref;
  const failed = call.result?.status === "error";
  view.el.append(
    h("div", { class: `quote level-${level}` },
      h("pre", { class: failed ? "failed" : "" }, lines.slice(0, max).map(clean).join("\n")),
      (lines.length > max || ref) && h("div", { class: "rest" },
        lines.length > max ? `${scene.glyphs.more} ${count(lines.length - max, "more line")}` : "",
        ref ? `${lines.length > max ? scene.glyphs.between : ""}ref:${ref}` : "", " ",
        h("button", { type: "button", class: "link", data: { do: "result", call: call.callId } }, "open"))),
  );
}

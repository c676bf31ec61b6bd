/**
 * The step tree. Steps live in chunks; a chunk that is far from what is seen is empty and only keeps its height, so that a
 * tree of thousands of steps costs what is on the screen. A delta draws the steps that it touched and nothing else.
 */
import type { Cycle, CycleMeta } from "../src/protocol";
import { h, setText } from "./dom";
import { glyphs, type Glyphs } from "./glyphs";
import { noteRows, routeRow, workflowRows } from "./run";
import { isOpen, row, stepView, type Scene, type StepView } from "./step";
import type { Answer, Changes, Store } from "./store";
import { clean, cost, count, duration, firstLine, tokens } from "./words";

const CHUNK_STEPS = 32;
const ROW_HEIGHT = 22; // of a step that was never drawn, in CSS pixels
const NEAR = "150%"; // of the view's height, above and below: chunks that are drawn
const TEXT_SHARE = 0.3; // of the time that drawing streamed text may take

interface Chunk {
  el: HTMLElement;
  cycle: CycleView;
  /** steps from..to-1 */
  from: number;
  to: number;
  views: Map<number, StepView> | undefined;
}

interface CycleView {
  id: string;
  el: HTMLElement;
  head: HTMLElement;
  body: HTMLElement | undefined;
  context: HTMLElement;
  notes: HTMLElement;
  ending: HTMLElement;
  chunks: Chunk[];
  status: string;
}

export class Tree {
  readonly el = h("div", { class: "tree", role: "tree", "aria-label": "Steps" });
  private cycles = new Map<string, CycleView>();
  private folds = new Map<string, boolean>();
  private folded = new Set<string>();
  private chunkOf = new WeakMap<Element, Chunk>();
  private drawn = new Map<string, { chunk: Chunk; index: number }>();
  private observer: IntersectionObserver;
  private scene: Scene;
  private session = "";
  private textDue = 0;
  private late = new Map<string, Set<number>>();

  constructor(private readonly store: Store, scroller: HTMLElement) {
    this.scene = this.newScene();
    this.observer = new IntersectionObserver((seen) => this.seen(seen), { root: scroller, rootMargin: `${NEAR} 0px` });
  }

  private newScene(): Scene {
    return { meta: this.store.meta, glyphs: this.g, pending: this.store.pending().byCall, folds: this.folds };
  }

  private get g(): Glyphs {
    return glyphs(this.store.host.settings.glyphs);
  }

  /** Draws what changed. */
  draw(changes: Changes): void {
    this.scene = this.newScene();
    const model = this.store.model;
    this.el.setAttribute("aria-busy", String(!this.store.loaded));
    if (changes.all) {
      this.rebuild();
      return;
    }
    for (const id of changes.cycles) {
      const c = model.cycles.findLast((x) => x.id === id);
      if (c) {
        this.drawCycle(c);
      }
    }
    for (const [id, steps] of changes.steps) {
      this.drawSteps(id, steps);
    }
    for (const id of changes.calls) {
      const at = this.drawn.get(id);
      if (at && !changes.steps.get(at.chunk.cycle.id)?.has(at.index)) {
        this.drawStep(at.chunk, at.index);
      }
    }
    this.drawTexts(changes.texts);
  }

  /** Streamed text may take its share of the time and no more; what is late is drawn with the next frame that has time. */
  private drawTexts(texts: ReadonlyMap<string, ReadonlySet<number>>): void {
    for (const [id, steps] of texts) {
      const late = this.late.get(id) ?? new Set();
      steps.forEach((i) => late.add(i));
      this.late.set(id, late);
    }
    const begin = performance.now();
    if (this.late.size === 0) {
      return;
    }
    if (begin < this.textDue) {
      this.store.changed();
      return;
    }
    const due = this.late;
    this.late = new Map();
    for (const [id, steps] of due) {
      for (const index of steps) {
        this.drawText(id, index);
      }
    }
    const took = performance.now() - begin;
    this.textDue = begin + took / TEXT_SHARE;
  }

  private drawText(id: string, index: number): void {
    const view = this.cycles.get(id);
    const chunk = view?.chunks.find((k) => k.from <= index && index < k.to);
    const step = this.store.model.cycles.findLast((c) => c.id === id)?.steps?.[index];
    const text = chunk?.views?.get(index)?.text;
    if (!chunk?.views || !step) {
      return;
    }
    if (text && step.type === "ai-block" && text.el.isConnected) {
      text.update(step.text.text);
    } else {
      this.drawStep(chunk, index);
    }
  }

  private rebuild(): void {
    const { model } = this.store;
    const session = `${this.store.host.sessionId}/${this.store.host.branchId}`;
    if (this.session !== session || this.cycles.size === 0) {
      this.session = session; // cycles that were over before are folded, but for the latest: who comes back wants to see where they were
      this.folded = new Set(model.cycles.slice(0, -1).map((c) => c.id));
    }
    this.observer.disconnect();
    this.cycles.clear();
    this.drawn.clear();
    this.late.clear();
    this.el.replaceChildren(...this.answers(undefined));
    for (const c of model.cycles) {
      this.drawCycle(c);
      this.el.append(...this.answers(c.id));
    }
    this.rove();
  }

  private answers(after: string | undefined): HTMLElement[] {
    return this.store.answers.filter((a) => a.after === after).map((a, i) => this.answer(a, `answer/${after ?? ""}/${i}`));
  }

  private answer(a: Answer, key: string): HTMLElement {
    return h("div", { class: "cycle answer" },
      row(key, { level: 1, class: "root", glyph: this.g.answer }, [firstLine(a.input).line]),
      h("pre", { class: a.ok ? "" : "failed" }, clean(a.content.trimEnd())));
  }

  private drawCycle(c: Cycle): void {
    const meta = this.store.meta.cycles[c.id];
    const open = isOpen(this.scene, c.id, !this.folded.has(c.id));
    let view = this.cycles.get(c.id);
    if (!view) {
      view = this.newCycle(c);
      const before = this.store.model.cycles.at(-2);
      if (before && this.cycles.has(before.id) && this.store.meta.cycles[before.id]?.workflow?.status === "proposed") {
        this.drawCycle(before); // it can't be approved any more
      }
    }
    view.el.dataset["status"] = c.status;
    const head = this.rootRow(c, meta, open);
    view.head.replaceWith(head);
    view.head = head;
    if (!open) {
      this.close(view);
      return;
    }
    if (!view.body) {
      view.body = h("div", { class: "body", role: "none" }, view.context, view.notes, view.ending);
      view.el.append(view.body);
    }
    this.extend(view, c);
    const latest = this.store.model.cycles.at(-1)?.id === c.id;
    view.context.replaceChildren(...routeRow(c, meta, this.g), ...this.contextRow(c, meta));
    view.notes.replaceChildren(...noteRows(c, meta, this.g), ...workflowRows(this.scene, c, meta, latest));
    view.ending.replaceChildren(...this.ending(c, meta));
    if (view.status !== c.status) {
      view.status = c.status;
      this.drawSteps(c.id, new Set([...view.chunks.at(-1)?.views?.keys() ?? []]));
    }
  }

  private newCycle(c: Cycle): CycleView {
    const el = h("div", { class: "cycle", role: "none" });
    const head = h("div");
    el.append(head);
    const view: CycleView = { id: c.id, el, head, body: undefined, context: h("div", { role: "none" }), notes: h("div", { role: "none" }), ending: h("div", { role: "none" }), chunks: [], status: c.status };
    this.cycles.set(c.id, view);
    this.el.append(el);
    return view;
  }

  private close(view: CycleView): void {
    for (const chunk of view.chunks) {
      this.observer.unobserve(chunk.el);
      this.empty(chunk);
    }
    view.chunks = [];
    view.body?.remove();
    view.body = undefined;
  }

  private rootRow(c: Cycle, meta: CycleMeta | undefined, open: boolean): HTMLElement {
    const text = clean(c.root.text.trim());
    const el = row(c.id, { level: 1, class: `root ${open ? "opened" : ""}`, open, glyph: open ? this.g.open : this.g.closed, glyphClass: "fold", label: firstLine(text).line },
      [open ? text : firstLine(text).line], [h("span", { class: "number figures" }, this.figures(meta))]);
    return el;
  }

  private figures(meta: CycleMeta | undefined): string {
    if (!meta) {
      return "";
    }
    const begun = Date.parse(meta.started ?? "");
    const ms = meta.ended || Number.isNaN(begun) ? meta.elapsedMs : Date.now() - begun;
    return [duration(ms), meta.tokens > 0 ? `${tokens(meta.tokens)} tok` : "", cost(meta.costUsd)].filter((w) => w !== "").join(this.g.between);
  }

  /** The clock of the cycle that is going on. */
  tick(): void {
    const c = this.store.active();
    const view = c && this.cycles.get(c.id);
    const el = view?.head.querySelector(".figures");
    if (c && el) {
      setText(el, this.figures(this.store.meta.cycles[c.id]));
    }
  }

  private contextRow(c: Cycle, meta: CycleMeta | undefined): HTMLElement[] {
    if (!meta?.planId) {
      return [];
    }
    return [
      row(`${c.id}/context`, { level: 2, class: "context", glyph: this.g.context },
        ["context  ", h("span", { class: "dim" }, `${count(meta.contextItems, "item")}${this.g.between}${tokens(meta.contextTokens)} of ${tokens(meta.contextBudget)} tokens`)],
        [h("button", { type: "button", class: "link", title: "What the model was given, what was left out, and why", data: { do: "context", plan: meta.planId } }, "why?")]),
    ];
  }

  /** How a cycle ended if not well; what the running one waits for stands below the tree. */
  private ending(c: Cycle, meta: CycleMeta | undefined): HTMLElement[] {
    const said = firstLine(meta?.stop ?? "").line;
    if (c.status === "error") {
      return [row(`${c.id}/end`, { level: 2, class: "ending failed", glyph: this.g.failed }, [said || "failed"])];
    }
    if (c.status === "interrupted") {
      return [row(`${c.id}/end`, { level: 2, class: "ending dim", glyph: this.g.cancelled }, [said ? `interrupted: ${said}` : "interrupted"])];
    }
    return [];
  }

  /** Gives every step a place in a chunk. */
  private extend(view: CycleView, c: Cycle): void {
    const steps = c.steps?.length ?? 0;
    let last = view.chunks.at(-1);
    let next = last?.to ?? 1; // step 0 is the root
    while (next < steps) {
      if (!last || last.to - last.from >= CHUNK_STEPS) {
        last = { el: h("div", { class: "chunk", role: "none" }), cycle: view, from: next, to: next, views: undefined };
        view.chunks.push(last);
        this.chunkOf.set(last.el, last);
        view.notes.before(last.el);
        this.observer.observe(last.el);
      }
      const to = Math.min(steps, last.from + CHUNK_STEPS);
      next = last.to = to;
      if (last.views) {
        this.fill(last, c);
      } else {
        last.el.style.height = `${(last.to - last.from) * ROW_HEIGHT * 2}px`;
      }
    }
  }

  private drawSteps(id: string, steps: ReadonlySet<number>): void {
    const view = this.cycles.get(id);
    const c = this.store.model.cycles.findLast((x) => x.id === id);
    if (!view?.body || !c) {
      return;
    }
    this.extend(view, c);
    for (const index of steps) {
      const chunk = view.chunks[Math.floor((index - 1) / CHUNK_STEPS)];
      if (chunk?.views?.has(index)) {
        this.drawStep(chunk, index);
      }
    }
  }

  /** Draws a step anew in its place; the focus stays on the row that had it. */
  private drawStep(chunk: Chunk, index: number): void {
    const c = this.store.model.cycles.findLast((x) => x.id === chunk.cycle.id);
    const was = chunk.views?.get(index);
    if (!c || !was || !chunk.views) {
      return;
    }
    const focused = was.el.contains(document.activeElement) ? (document.activeElement as HTMLElement).closest<HTMLElement>(".row")?.dataset["key"] : undefined;
    const view = stepView(this.scene, c, index);
    was.el.replaceWith(view.el);
    this.keep(chunk, index, view);
    if (focused !== undefined) {
      this.rowOf(focused)?.focus({ preventScroll: true });
    }
  }

  private keep(chunk: Chunk, index: number, view: StepView): void {
    chunk.views!.set(index, view);
    for (const id of view.calls) {
      this.drawn.set(id, { chunk, index });
    }
  }

  private fill(chunk: Chunk, c: Cycle): void {
    chunk.views ??= new Map();
    chunk.el.style.height = "";
    const fresh: HTMLElement[] = [];
    for (let i = chunk.from; i < chunk.to; i++) {
      if (!chunk.views.has(i)) {
        const view = stepView(this.scene, c, i);
        this.keep(chunk, i, view);
        fresh.push(view.el);
      }
    }
    chunk.el.append(...fresh);
  }

  private empty(chunk: Chunk): void {
    for (const view of chunk.views?.values() ?? []) {
      for (const id of view.calls) {
        this.drawn.delete(id);
      }
    }
    chunk.views = undefined;
    chunk.el.replaceChildren();
  }

  private seen(entries: IntersectionObserverEntry[]): void {
    for (const e of entries) {
      const chunk = this.chunkOf.get(e.target);
      if (!chunk || !chunk.el.isConnected) {
        continue;
      }
      if (e.isIntersecting && !chunk.views) {
        this.fillChunk(chunk);
      } else if (!e.isIntersecting && chunk.views && !chunk.el.contains(document.activeElement)) {
        chunk.el.style.height = `${e.boundingClientRect.height}px`;
        this.empty(chunk);
      }
    }
  }

  private fillChunk(chunk: Chunk): void {
    const c = this.store.model.cycles.findLast((x) => x.id === chunk.cycle.id);
    if (c) {
      this.scene = this.newScene();
      this.fill(chunk, c);
      this.filled();
    }
  }
  /** called after rows came by scrolling */
  filled: () => void = () => undefined;

  // -- folds, focus and keys

  private rowOf(key: string): HTMLElement | null {
    return this.el.querySelector<HTMLElement>(`.row[data-key="${CSS.escape(key)}"]`);
  }

  /** Opens or closes what a row stands for. */
  fold(el: HTMLElement): void {
    const { key, open } = el.dataset;
    if (key === undefined || open === undefined) {
      return;
    }
    this.folds.set(key, open !== "true");
    this.scene = this.newScene();
    const c = this.store.model.cycles.find((x) => key === x.id || key.startsWith(`${x.id}/`));
    if (!c) {
      return;
    }
    if (key === c.id) {
      this.drawCycle(c);
    } else {
      const chunk = this.chunkOf.get(el.closest(".chunk")!);
      const index = Number(key.slice(c.id.length + 1).split("/")[0]);
      if (chunk) {
        this.drawStep(chunk, index);
      } else {
        this.drawCycle(c);
      }
    }
    this.rowOf(key)?.focus({ preventScroll: true });
    this.rove();
  }

  /** One row can be reached by Tab: the focused one, else the last root. */
  rove(): void {
    const current = this.el.querySelector<HTMLElement>('.row[tabindex="0"]');
    if (!current) {
      [...this.el.querySelectorAll<HTMLElement>(".row.root")].at(-1)?.setAttribute("tabindex", "0");
    }
  }

  focusRow(el: HTMLElement | null | undefined): void {
    if (el) {
      this.el.querySelectorAll('.row[tabindex="0"]').forEach((r) => r.setAttribute("tabindex", "-1"));
      el.setAttribute("tabindex", "0");
      el.focus();
      el.scrollIntoView({ block: "nearest" });
    }
  }

  /** The row before or after another; an empty chunk in between is drawn. */
  private neighbour(from: HTMLElement, forward: boolean): HTMLElement | null {
    const walker = document.createTreeWalker(this.el, NodeFilter.SHOW_ELEMENT);
    walker.currentNode = from;
    for (;;) {
      const node = (forward ? walker.nextNode() : walker.previousNode()) as HTMLElement | null;
      if (!node) {
        return null;
      }
      const chunk = this.chunkOf.get(node);
      if (chunk && !chunk.views) {
        this.fillChunk(chunk);
        if (!forward && node.lastElementChild) {
          walker.currentNode = node.nextElementSibling ?? node;
        }
      } else if (node.classList.contains("row")) {
        return node;
      }
    }
  }

  /** Arrow keys, as in every tree of the editor; true when the key was taken. */
  key(e: KeyboardEvent): boolean {
    const at = (e.target as HTMLElement).closest<HTMLElement>(".row");
    if (!at || e.altKey || e.ctrlKey || e.metaKey) {
      return false;
    }
    const open = at.dataset["open"];
    switch (e.key) {
      case "ArrowDown":
        this.focusRow(this.neighbour(at, true));
        return true;
      case "ArrowUp":
        this.focusRow(this.neighbour(at, false));
        return true;
      case "Home":
        this.focusRow(this.el.querySelector<HTMLElement>(".row"));
        return true;
      case "End":
        this.focusRow([...this.el.querySelectorAll<HTMLElement>(".row")].at(-1));
        return true;
      case "ArrowRight":
        if (open === "false") {
          this.fold(at);
        } else if (open === "true") {
          this.focusRow(this.neighbour(at, true));
        }
        return true;
      case "ArrowLeft":
        if (open === "true") {
          this.fold(at);
        } else {
          this.focusRow(this.parent(at));
        }
        return true;
      default:
        return false;
    }
  }

  private parent(of: HTMLElement): HTMLElement | null {
    const level = Number(of.getAttribute("aria-level"));
    for (let el = this.neighbour(of, false); el; el = this.neighbour(el, false)) {
      if (Number(el.getAttribute("aria-level")) < level) {
        return el;
      }
    }
    return null;
  }
}

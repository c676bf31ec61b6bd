/** What stands between the tree and the prompt: how the run stands with its controls, hunks to review, the queue, and faults. */
import { button, h } from "./dom";
import { post } from "./host";
import { glyphs } from "./glyphs";
import { icon } from "./icons";
import type { Store } from "./store";
import { count, firstLine } from "./words";

const run = (command: string, ...args: unknown[]) => post({ type: "command", command, ...(args.length > 0 && { args }) });

export class Dock {
  private runLine = h("div", { class: "line run" });
  private reviewLine = h("div", { class: "line review" });
  private queueLines = h("ul", { class: "queue", "aria-label": "Queued follow-ups" });
  private faultLine = h("div", { class: "line fault", role: "alert" });
  readonly el = h("div", { class: "dock" }, this.faultLine, this.reviewLine, this.queueLines, this.runLine);
  private drawn: Record<string, string> = {};
  private editing: string | undefined;

  constructor(private readonly store: Store) {}

  draw(): void {
    const s = this.store;
    const meta = s.activeMeta();
    const pending = s.pending();
    this.part("run", this.runLine, [s.active()?.id, meta?.state, meta?.iter, meta?.max, s.paused(), s.telemetry, s.run?.runId, s.run?.state], () => this.runContent());
    this.part("review", this.reviewLine, [pending.hunks, pending.files, pending.conflicts], () => this.reviewContent(pending));
    this.part("queue", this.queueLines, [s.model.queued, s.queuePaused, this.editing], () => this.queueContent());
    this.part("fault", this.faultLine, [s.fault], () => (s.fault ? [`${this.g.failed} ${s.fault}`] : []));
  }

  private get g() {
    return glyphs(this.store.host.settings.glyphs);
  }

  /** Draws a part where what it shows differs from before; the focus stays on the control that had it. */
  private part(name: string, el: HTMLElement, shows: unknown, content: () => (Node | string)[]): void {
    const words = JSON.stringify([shows, this.store.host.settings.glyphs]);
    if (this.drawn[name] !== words) {
      this.drawn[name] = words;
      const focused = el.contains(document.activeElement) ? document.activeElement?.getAttribute("aria-label") : undefined;
      el.replaceChildren(...content());
      el.hidden = el.childNodes.length === 0;
      if (focused) {
        el.querySelector<HTMLElement>(`[aria-label="${CSS.escape(focused)}"]`)?.focus();
      }
    }
  }

  private control(command: "pause" | "resume" | "cancel"): HTMLElement {
    const names = { pause: "Pause", resume: "Resume", cancel: "Cancel" };
    return button(names[command], () => this.store.control(command), { class: "action" }, icon(command === "cancel" ? "stop" : command), names[command]);
  }

  private runContent(): (Node | string)[] {
    const s = this.store;
    const meta = s.activeMeta();
    const escalate = button("Escalate", () => run("agentLsp.escalate"), { class: "action", title: "Let a stronger model take over" }, icon("escalate"), "Escalate");
    const say = (kind: string, sign: string, words: string, ...actions: HTMLElement[]) => [
      h("span", { class: `glyph ${kind}`, "aria-hidden": "true" }, sign), h("span", { class: `words ${kind}` }, words), h("span", { class: "actions" }, ...actions)];
    if (!s.active()) {
      return s.run?.resumable ? say("paused", this.g.paused, `interrupted at step ${s.run.iter} of ${s.run.max}`, button("Take up again", () => s.control("resume"), { class: "action" }, icon("resume"), "Take up again")) : [];
    }
    if (s.paused()) {
      return say("paused", this.g.paused, `paused before step ${(meta?.iter ?? 0) + 1} of ${meta?.max ?? 0}`, this.control("resume"), this.control("cancel"), escalate);
    }
    if (meta?.state === "asking") {
      return say("wait", this.g.waiting, "waits for your answer", this.control("cancel"));
    }
    if (meta?.state === "waiting") {
      return say("dim", this.g.waiting, "waits for another run to end", this.control("cancel"));
    }
    const at = firstLine(s.telemetry).line || ((meta?.iter ?? 0) > 0 ? `step ${meta!.iter} of ${meta!.max}` : "working");
    return say("running", this.g.running, at, this.control("pause"), this.control("cancel"), escalate);
  }

  private reviewContent(p: { hunks: number; files: number; conflicts: number }): (Node | string)[] {
    if (p.hunks === 0) {
      return [];
    }
    const conflicts = p.conflicts > 0 ? `, ${count(p.conflicts, "conflict")}` : "";
    return [
      h("span", { class: "glyph wait", "aria-hidden": "true" }, this.g.waiting),
      h("span", { class: "words" }, `${count(p.hunks, "hunk")} in ${count(p.files, "file")}${conflicts}`),
      h("span", { class: "actions" },
        button("Review", () => run("agentLsp.review"), { class: "action" }, "Review"),
        button("Accept all", () => run("agentLsp.acceptAll"), { class: "action" }, `${this.g.done} Accept all`),
        button("Reject all", () => run("agentLsp.rejectAll"), { class: "action" }, `${this.g.failed} Reject all`)),
    ];
  }

  private queueContent(): (Node | string)[] {
    const { model, queuePaused } = this.store;
    const head = queuePaused && model.queued.length > 0
      ? [h("li", { class: "line" }, h("span", { class: "glyph paused" }, this.g.paused), h("span", { class: "words paused" }, "the queue waits since you stopped the run"))]
      : [];
    return [...head, ...model.queued.map((q, i) => (q.id === this.editing ? this.editor(q) : this.queued(q, i, model.queued.length)))];
  }

  private queued(q: { id: string; text: string }, at: number, of: number): HTMLElement {
    const { line, more } = firstLine(q.text);
    const named = `${at + 1}: ${line}`;
    const edit = () => {
      this.editing = q.id;
      this.draw();
      this.queueLines.querySelector("textarea")?.focus();
    };
    return h("li", { class: "line queued" },
      h("span", { class: "glyph", "aria-hidden": "true" }, this.g.queued),
      h("span", { class: "words" }, h("span", { class: "dim" }, "queued: "), h("button", { type: "button", class: "plain", title: "Edit", "aria-label": `Edit ${named}`, on: { click: edit } }, line + (more > 0 ? ` (+${more})` : ""))),
      h("span", { class: "actions" },
        button(`Move up ${named}`, () => void this.store.queue("agent/queue/move", { id: q.id, to: at - 1 }), { class: "action", disabled: at === 0 }, this.g.up),
        button(`Move down ${named}`, () => void this.store.queue("agent/queue/move", { id: q.id, to: at + 1 }), { class: "action", disabled: at === of - 1 }, this.g.down),
        button(`Remove ${named}`, () => void this.store.queue("agent/queue/remove", { id: q.id }), { class: "action" }, this.g.remove)));
  }

  private editor(q: { id: string; text: string }): HTMLElement {
    const close = (input?: string) => {
      this.editing = undefined;
      if (input !== undefined && input.trim() !== "" && input !== q.text) {
        void this.store.queue("agent/queue/edit", { id: q.id, input });
      }
      this.draw();
    };
    const area = h("textarea", { rows: 1, "aria-label": "Queued follow-up", on: {
      keydown: (e) => {
        if (e.key === "Enter" && !e.shiftKey) {
          e.preventDefault();
          close(area.value);
        } else if (e.key === "Escape") {
          close();
        }
      },
      blur: () => this.editing === q.id && close(area.value),
    } });
    area.value = q.text;
    return h("li", { class: "line queued" }, h("span", { class: "glyph", "aria-hidden": "true" }, this.g.queued), area);
  }
}

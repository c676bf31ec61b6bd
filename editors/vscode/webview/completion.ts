/** The list of completions above the prompt: /commands, @mentions, #tags, as the server proposes them. */
import type { Completion } from "../src/protocol";
import { h } from "./dom";
import { request } from "./host";
import { byteOffset, unitOffset } from "./offsets";

const SHOWN_MAX = 50;
const TRIGGER = /(^|\s)[@#]\S*$|^\/\S*$/;

export class CompletionList {
  readonly el = h("ul", { class: "completions", id: "completions", role: "listbox", "aria-label": "Completions", hidden: true });
  private items: Completion[] = [];
  private start = 0;
  private at = -1;
  private asked = 0;

  constructor(private readonly area: HTMLTextAreaElement, private readonly written: () => void) {
    area.setAttribute("aria-controls", "completions");
    area.setAttribute("aria-autocomplete", "list");
  }

  get open(): boolean {
    return !this.el.hidden;
  }

  /** Offers completions while a word is written that one of the signs begins. */
  async offer(force = false): Promise<void> {
    const { value, selectionStart } = this.area;
    const asked = ++this.asked;
    if (!force && !TRIGGER.test(value.slice(0, selectionStart))) {
      this.close();
      return;
    }
    const r = await request("agent/complete", { text: value, offset: byteOffset(value, selectionStart) }).catch(() => undefined);
    if (asked !== this.asked || this.area.value !== value || this.area.selectionStart !== selectionStart) {
      return; // something was typed since
    }
    this.items = (r?.items ?? []).slice(0, SHOWN_MAX);
    this.start = unitOffset(value, r?.start ?? 0);
    this.at = 0;
    this.draw();
  }

  close(): void {
    this.asked++;
    this.el.hidden = true;
    this.area.removeAttribute("aria-activedescendant");
  }

  private draw(): void {
    this.el.hidden = this.items.length === 0;
    this.el.replaceChildren(...this.items.map((item, i) =>
      h("li", { role: "option", id: `completion-${i}`, "aria-selected": i === this.at, on: { mousedown: (e) => { e.preventDefault(); this.accept(i); } } },
        h("span", { class: "label" }, item.label), h("span", { class: "dim" }, item.detail ?? item.kind))));
    this.mark();
  }

  private mark(): void {
    for (const [i, el] of [...this.el.children].entries()) {
      el.setAttribute("aria-selected", String(i === this.at));
    }
    if (this.open && this.at >= 0) {
      this.area.setAttribute("aria-activedescendant", `completion-${this.at}`);
      this.el.children[this.at]?.scrollIntoView({ block: "nearest" });
    }
  }

  /** True when the key was for the list. */
  key(e: KeyboardEvent): boolean {
    if (!this.open || e.altKey || e.ctrlKey || e.metaKey) {
      return false;
    }
    switch (e.key) {
      case "ArrowDown":
      case "ArrowUp":
        this.at = (this.at + (e.key === "ArrowDown" ? 1 : -1) + this.items.length) % this.items.length;
        this.mark();
        return true;
      case "Tab":
      case "Enter":
        if (e.shiftKey || (e.key === "Enter" && this.typedWhole())) {
          return false;
        }
        this.accept(this.at);
        return true;
      case "Escape":
        this.close();
        return true;
      default:
        return false;
    }
  }

  /** The chosen word stands there already: Enter sends. */
  private typedWhole(): boolean {
    return this.area.value.slice(this.start, this.area.selectionStart) === this.items[this.at]?.insert.trimEnd();
  }

  private accept(i: number): void {
    const item = this.items[i];
    if (item) {
      const { value, selectionStart } = this.area;
      const after = value.slice(selectionStart);
      const blank = /[/:\s]$/.test(item.insert) || /^\s/.test(after) ? "" : " ";
      this.area.setRangeText(item.insert + blank, this.start, selectionStart, "end");
      this.written();
    }
    this.close();
  }
}

/** The card of a question: what wants to run, where, and the answers, one key each. */
import type { PermissionOption, PermissionParams } from "../src/protocol";
import { button, h } from "./dom";
import { glyphs } from "./glyphs";
import { post } from "./host";
import type { Question, Store } from "./store";
import { clean } from "./words";

const GUARD_MS = 350; // after the card took the focus, keys typed for something else are no answers

/** The key of each kind of answer, as in every other face. */
const KEYS: [kind: string, key: string, word: string][] = [
  ["allow_once", "y", "once"],
  ["allow_always", "a", "always"],
  ["reject_once", "n", "no"],
  ["reject_always", "D", "never"],
];

export class Cards {
  readonly el = h("div", { class: "cards" });
  private cards = new Map<string, HTMLElement>();

  constructor(private readonly store: Store) {}

  draw(): void {
    const ids = new Set(this.store.questions.map((q) => q.id));
    for (const [id, card] of this.cards) {
      if (!ids.has(id)) {
        card.remove();
        this.cards.delete(id);
      }
    }
    for (const q of this.store.questions) {
      if (!this.cards.has(q.id)) {
        const card = permissionCard(q, glyphs(this.store.host.settings.glyphs).warn, (optionId, reason) => this.answer(q, optionId, reason));
        this.cards.set(q.id, card);
        this.el.append(card);
        this.offerFocus(card);
      }
    }
  }

  /** The focus comes to the first card, unless the person is writing. */
  private offerFocus(card: HTMLElement): void {
    const at = document.activeElement;
    if (document.hasFocus() && this.cards.size === 1 && !(at instanceof HTMLTextAreaElement || at instanceof HTMLInputElement)) {
      card.focus();
    }
  }

  private answer(q: Question, optionId: string, reason?: string): void {
    post({ type: "permission", id: q.id, optionId, ...(reason && { reason }) });
    this.store.questions = this.store.questions.filter((x) => x !== q);
    this.store.changed();
  }
}

/** The rule that "always" saves, from the option's own words. */
function rule(o: PermissionOption): string {
  return o.name.replace(/^Always allow /, "").replace(/ = allow$/, "");
}

function detailOf(p: PermissionParams): string {
  return (p.detail.startsWith(p.title) ? p.detail.slice(p.title.length) : p.detail).trim(); // the command itself is said already
}

function permissionCard(q: Question, warn: string, answer: (optionId: string, reason?: string) => void): HTMLElement {
  const p = q.params;
  const of = (kind: string) => p.options.find((o) => o.kind === kind);
  const reason = h("input", { type: "text", class: "reason", placeholder: "No, because…", "aria-label": "Why not", hidden: true });
  const because = () => {
    reason.hidden = false;
    reason.focus();
  };
  const buttons: HTMLElement[] = [];
  const keys = new Map<string, () => void>();
  const offer = (key: string, label: string, act: () => void, main = false) => {
    keys.set(key, act);
    buttons.push(button(label, act, { class: main ? "main" : "secondary", "aria-keyshortcuts": key, "aria-label": label, title: `${label} (${key})` }, h("kbd", {}, key), label));
  };
  for (const [kind, key, word] of KEYS) {
    const o = of(kind);
    if (o) {
      offer(key, kind === "allow_always" ? `${word}: ${rule(o)}` : word, () => answer(o.id), kind === "allow_once" && !p.destructive);
    }
    if (o && kind === "reject_once") {
      offer("N", "no, because…", because);
    }
  }
  reason.addEventListener("keydown", (e) => {
    e.stopPropagation();
    const no = of("reject_once");
    if (e.key === "Enter" && no) {
      answer(no.id, reason.value.trim());
    } else if (e.key === "Escape") {
      reason.hidden = true;
      card.focus();
    }
  });
  let focusedAt = 0;
  const card = h(
    "section",
    {
      class: `card ${p.destructive ? "destructive" : ""}`, tabindex: 0, role: "group", "aria-label": `${p.tool} wants to run: ${p.title}`, data: { question: q.id },
      on: {
        focusin: (e) => {
          focusedAt = card.contains(e.relatedTarget as Node) ? focusedAt : performance.now();
        },
        keydown: (e) => {
          const act = keys.get(e.key);
          if (act && !e.ctrlKey && !e.metaKey && !e.altKey && performance.now() - focusedAt >= GUARD_MS) {
            e.preventDefault();
            act();
          }
        },
      },
    },
    h("h2", {}, h("b", {}, p.tool), " wants to run"),
    h("pre", { class: "command", tabindex: 0 }, clean(p.title)),
    detailOf(p) !== "" && h("p", { class: "dim" }, clean(detailOf(p))),
    p.destructive && h("p", { class: "failed" }, `${warn} this may destroy something`),
    p.diff ? diffOf(p.diff) : undefined,
    h("div", { class: "answers" }, ...buttons),
    reason,
  );
  return card;
}

function diffOf(diff: string): HTMLElement {
  return h("pre", { class: "diff", tabindex: 0 }, ...diff.trimEnd().split("\n").map((line) =>
    h("span", { class: /^(\+\+\+|---) /.test(line) ? "dim" : line.startsWith("+") ? "added" : line.startsWith("-") ? "deleted" : "dim" }, clean(line))));
}

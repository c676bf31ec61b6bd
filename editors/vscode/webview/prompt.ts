/**
 * Where the person writes. A draft outlives the view. A message leaves the prompt when it is sent, so that the next can be
 * written at once, and comes back when the server refuses it. Enter always counts: what can't go yet goes as soon as it can.
 */
import type { HostState } from "../src/messages";
import { CompletionList } from "./completion";
import { arrows, button, h, setText } from "./dom";
import { post, remember, remembered } from "./host";
import { icon } from "./icons";
import type { Store } from "./store";

const HISTORY_MAX = 200;

type Way = "auto" | "steer" | "followUp" | "stop";
const NAMES: Record<Way, string> = { auto: "Send", steer: "Steer", followUp: "Queue as a follow-up", stop: "Stop and send" };
const MEANING: Record<Way, string> = {
  auto: "",
  steer: "the running work reads it with its next step",
  followUp: "asked when the running work is done",
  stop: "the running work is stopped, then this is asked",
};

export class Prompt {
  private area = h("textarea", {
    rows: 1, placeholder: "Ask about this repository, or say what to change", "aria-label": "Message to the agent", spellcheck: false,
    role: "combobox", "aria-expanded": false, "aria-haspopup": "listbox",
  });
  private list = new CompletionList(this.area, () => this.typed());
  private chips = h("div", { class: "chips" });
  private hint = h("span", { class: "hint dim" });
  private model = button("Choose the model", () => post({ type: "command", command: "agentLsp.model" }), { class: "quiet model" }, "");
  private sendButton = button("Send", () => this.send(this.ways()[0]), { class: "send", title: "Send (Enter)" }, icon("send"));
  private menuButton = button("Other ways to send", () => this.toggleMenu(), { class: "send-menu", "aria-haspopup": "menu", "aria-expanded": false }, icon("chevron"));
  private stopButton = button("Stop", () => this.store.control("cancel"), { class: "stop", title: "Stop the run (Escape in the empty prompt)" }, icon("stop"));
  private menu = h("div", { class: "menu", role: "menu", hidden: true });
  readonly el: HTMLElement;
  private atHistory = 0;
  private draft = "";
  /** sent, and not answered yet */
  private sent: string | undefined;
  /** to be sent as soon as that is possible; typing on takes it back */
  private due: Way | undefined;

  constructor(private readonly store: Store) {
    this.el = h("div", { class: "prompt" }, this.list.el, this.menu,
      h("div", { class: "box" }, this.chips, this.area,
        h("div", { class: "bar" }, this.model, this.hint, h("span", { class: "grow" }), this.stopButton, h("span", { class: "split" }, this.sendButton, this.menuButton))));
    this.area.addEventListener("input", () => this.typed());
    this.area.addEventListener("keydown", (e) => this.key(e));
    this.area.addEventListener("blur", () => this.list.close());
    this.menu.addEventListener("keydown", (e) => this.menuKey(e));
    this.menu.addEventListener("focusout", (e) => {
      if (!this.menu.contains(e.relatedTarget as Node) && e.relatedTarget !== this.menuButton) {
        this.menu.hidden = true;
      }
    });
    this.area.value = remembered<{ draft: string }>().draft ?? "";
  }

  /** What Enter does now, and what Alt+Enter does. */
  private ways(): [Way, Way] {
    if (!this.store.active()) {
      return ["auto", "auto"];
    }
    return this.store.host.settings.enterWhileRunning === "followUp" ? ["followUp", "steer"] : ["steer", "followUp"];
  }

  draw(): void {
    const running = this.store.active() !== undefined;
    const [enter, other] = this.ways();
    const verb = (way: Way) => (way === "steer" ? "steers" : "queues");
    setText(this.hint, this.due ? this.dueWords() : running ? `Enter ${verb(enter)} · Alt+Enter ${verb(other)}` : "");
    this.sendButton.title = `${NAMES[enter]} (Enter)`;
    this.sendButton.setAttribute("aria-label", NAMES[enter]);
    this.sendButton.disabled = this.area.value.trim() === "" || this.due !== undefined;
    this.menuButton.hidden = !running;
    this.stopButton.hidden = !running;
    setText(this.model, (this.store.activeMeta()?.model || this.store.host.status?.model || "").replace(/^.*\//, "") || "no model");
    this.area.placeholder = running ? "Steer the running work, or queue what comes next" : "Ask about this repository, or say what to change";
    this.area.setAttribute("aria-expanded", String(this.list.open));
    this.drawChips();
    this.sendDue();
  }

  /** Why what is to be sent isn't yet. */
  private dueWords(): string {
    const { server } = this.store.host;
    const why: Record<HostState["server"], string> = {
      ready: this.due === "stop" ? "sent when the run has stopped" : "sent next", starting: "sent when the server is ready",
      none: "sent when there is a server", untrusted: "sent when you trust this workspace", down: "sent when the server runs again",
    };
    return why[server];
  }

  private sendDue(): void {
    const { due } = this;
    if (due !== undefined && this.sent === undefined && this.store.host.server === "ready" && !(due === "stop" && this.store.active())) {
      this.due = undefined;
      void this.submit(this.area.value, due === "stop" ? "auto" : due);
    }
  }

  private drawChips(): void {
    const { attached } = this.store.host;
    const words = JSON.stringify(attached);
    if (this.chips.dataset["is"] !== words) {
      this.chips.dataset["is"] = words;
      this.chips.replaceChildren(...attached.map((a, index) =>
        h("span", { class: "chip" }, a.label, button(`Remove ${a.label}`, () => post({ type: "detach", index }), { class: "quiet" }, icon("close")))));
    }
  }

  focus(words?: string): void {
    if (words && this.area.value.trim() === "") {
      this.set(words);
    }
    this.area.focus();
  }

  private set(words: string): void {
    this.area.value = words;
    this.area.setSelectionRange(words.length, words.length);
    this.keep();
    this.draw();
  }

  /** What the view's next life begins with: what is written, and what is on its way. */
  private keep(): void {
    remember({ draft: [this.sent ?? "", this.area.value].filter((w) => w !== "").join("\n") });
  }

  private typed(): void {
    this.due = undefined;
    this.keep();
    void this.list.offer().then(() => this.draw());
    this.draw();
  }

  /** Sends what is in the prompt. */
  private send(way: Way): void {
    if (this.area.value.trim() === "") {
      return;
    }
    this.due = way;
    if (way === "stop" && this.store.active()) {
      this.store.control("cancel");
    }
    this.draw();
  }

  private async submit(words: string, delivery: "auto" | "steer" | "followUp"): Promise<void> {
    this.sent = words;
    this.atHistory = 0;
    this.set("");
    const taken = await this.store.submit(words, delivery);
    this.sent = undefined;
    if (!taken) {
      this.due = undefined;
      this.set([words, this.area.value].filter((w) => w !== "").join("\n"));
    }
    this.keep();
    this.draw();
  }

  /** What was sent in this session, the latest first. */
  private history(): string[] {
    const out = new Set<string>();
    const { model, answers } = this.store;
    for (const a of answers.toReversed()) {
      out.add(a.input);
    }
    for (const c of model.cycles.toReversed()) {
      for (const s of (c.steps ?? []).filter((x) => x.type !== "ai-block").reverse()) {
        out.add((s as { text: string }).text);
      }
      if (out.size >= HISTORY_MAX) {
        break;
      }
    }
    out.delete("");
    return [...out];
  }

  private browse(by: 1 | -1): boolean {
    const list = this.history();
    const to = Math.max(0, Math.min(list.length, this.atHistory + by));
    if (to === this.atHistory) {
      return false;
    }
    if (this.atHistory === 0) {
      this.draft = this.area.value;
    }
    this.atHistory = to;
    this.set(to === 0 ? this.draft : list[to - 1]!);
    return true;
  }

  private key(e: KeyboardEvent): void {
    if (e.isComposing || this.list.key(e)) {
      if (!e.isComposing) {
        e.preventDefault();
      }
      return;
    }
    const { value, selectionStart, selectionEnd } = this.area;
    const caretOnly = selectionStart === selectionEnd;
    if (e.key === "Enter" && !e.shiftKey) {
      const [enter, other] = this.ways();
      this.send(e.ctrlKey || e.metaKey ? "stop" : e.altKey ? other : enter);
    } else if (e.key === "ArrowUp" && caretOnly && !value.slice(0, selectionStart).includes("\n") && (selectionStart === 0 || this.atHistory > 0 || value === "")) {
      if (!this.browse(1)) {
        return;
      }
    } else if (e.key === "ArrowDown" && caretOnly && this.atHistory > 0 && !value.slice(selectionStart).includes("\n")) {
      this.browse(-1);
    } else if (e.key === "Escape" && this.due) {
      this.due = undefined;
      this.draw();
    } else if (e.key === "Escape" && value === "" && this.store.active()) {
      this.store.control("cancel");
    } else if (e.key === " " && e.ctrlKey) {
      void this.list.offer(true);
    } else {
      return;
    }
    e.preventDefault();
  }

  private toggleMenu(): void {
    const [enter, other] = this.ways();
    const ways: [Way, string][] = [[enter, "Enter"], [other, "Alt+Enter"], ["stop", "Ctrl+Enter"]];
    this.menu.replaceChildren(...ways.map(([way, key]) =>
      h("button", { type: "button", role: "menuitem", class: "item", on: { click: () => { this.menu.hidden = true; this.send(way); this.area.focus(); } } },
        h("span", {}, h("b", {}, NAMES[way]), h("span", { class: "dim" }, MEANING[way])), h("kbd", {}, key))));
    this.menu.hidden = !this.menu.hidden;
    this.menuButton.setAttribute("aria-expanded", String(!this.menu.hidden));
    this.menu.querySelector<HTMLElement>("button")?.focus();
  }

  private menuKey(e: KeyboardEvent): void {
    if (e.key === "Escape") {
      this.menu.hidden = true;
      this.area.focus();
    } else {
      arrows(e, [...this.menu.querySelectorAll<HTMLElement>("button")]);
    }
  }
}

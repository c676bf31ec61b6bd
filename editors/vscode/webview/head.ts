/** The line above the tree: which session this is, the others, and a new one. */
import type { SessionInfo } from "../src/protocol";
import { arrows, button, h, setText } from "./dom";
import { post, request } from "./host";
import { icon } from "./icons";
import type { Store } from "./store";
import { ago, count } from "./words";

export class Head {
  private title = h("span", { class: "title" });
  private open = button("Sessions", () => this.toggle(), { class: "sessions quiet", "aria-haspopup": "menu", "aria-expanded": false }, this.title, icon("chevron"));
  private fresh = button("New session", () => void this.begin(), { class: "quiet" }, icon("add"));
  private menu = h("div", { class: "menu down", role: "menu", hidden: true });
  readonly el = h("header", {}, this.open, h("span", { class: "grow" }), this.fresh, this.menu);

  constructor(private readonly store: Store) {
    this.menu.addEventListener("keydown", (e) => {
      if (e.key === "Escape") {
        this.close();
        this.open.focus();
      } else {
        arrows(e, [...this.menu.querySelectorAll<HTMLElement>("button")]);
      }
    });
    this.menu.addEventListener("focusout", (e) => {
      if (!this.menu.contains(e.relatedTarget as Node) && e.relatedTarget !== this.open) {
        this.close();
      }
    });
  }

  draw(): void {
    const { title, branch } = this.store;
    setText(this.title, `${title || "New session"}${branch ? ` · ${branch}` : ""}`);
  }

  private close(): void {
    this.menu.hidden = true;
    this.open.setAttribute("aria-expanded", "false");
  }

  private toggle(): void {
    if (!this.menu.hidden) {
      this.close();
      return;
    }
    const { sessions, host } = this.store;
    this.menu.replaceChildren(...sessions.map((s) => this.item(s, s.sessionId === host.sessionId)));
    if (sessions.length === 0) {
      this.menu.append(h("p", { class: "dim" }, "No session yet."));
    }
    this.menu.hidden = false;
    this.open.setAttribute("aria-expanded", "true");
    (this.menu.querySelector<HTMLElement>(".current") ?? this.menu.querySelector<HTMLElement>("button"))?.focus();
  }

  private item(s: SessionInfo, current: boolean): HTMLElement {
    const choose = () => {
      this.close();
      post({ type: "switch", sessionId: s.sessionId, branchId: s.branchId });
    };
    const branches = s.branches.length > 1 ? ` · ${s.branches.length} branches` : "";
    return h("button", { type: "button", role: "menuitemradio", "aria-checked": current, class: `item ${current ? "current" : ""}`, on: { click: choose } },
      h("span", {}, h("b", {}, s.title || "Untitled"), h("span", { class: "dim" }, `${count(s.turns, "turn")}${branches}`)), h("span", { class: "dim" }, ago(s.lastActive, Date.now())));
  }

  private async begin(): Promise<void> {
    await this.store.doing(async () => {
      const s = await request("agent/session/new", {});
      post({ type: "switch", sessionId: s.sessionId, branchId: s.branchId });
    });
  }
}

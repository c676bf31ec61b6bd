/** Elements without a framework. Text always goes in as text, never as markup. */

type Child = Node | string | undefined | false;
export interface Props {
  class?: string;
  /** data-* attributes */
  data?: Record<string, string>;
  on?: { [K in keyof HTMLElementEventMap]?: (e: HTMLElementEventMap[K]) => void };
  [attribute: string]: unknown;
}

/** An element with attributes and children. true is an empty attribute, false and undefined are none; aria-* spell both out. */
export function h<K extends keyof HTMLElementTagNameMap>(tag: K, props: Props = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const el = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (name === "on") {
      for (const [event, fn] of Object.entries(value as object)) {
        el.addEventListener(event, fn as EventListener);
      }
    } else if (name === "data") {
      Object.assign(el.dataset, value);
    } else if (value !== undefined && (value !== false || name.startsWith("aria-"))) {
      el.setAttribute(name, value === true && !name.startsWith("aria-") ? "" : String(value));
    }
  }
  el.append(...children.filter((c): c is Node | string => c !== undefined && c !== false));
  return el;
}

/** Sets text where it differs, so that what stays the same costs no layout. */
export function setText(el: Node, text: string): void {
  if (el.textContent !== text) {
    el.textContent = text;
  }
}

/** A button that says what it does, with the key that does the same. */
export function button(label: string, onClick: () => void, props: Props = {}, ...children: Child[]): HTMLButtonElement {
  return h("button", { type: "button", title: label, "aria-label": label, ...props, on: { click: onClick, ...props.on } }, ...(children.length > 0 ? children : [label]));
}

/** Moves the focus among the members of a list with the arrow keys; true when the key was one of them. */
export function arrows(e: KeyboardEvent, members: HTMLElement[]): boolean {
  const at = members.indexOf(document.activeElement as HTMLElement);
  const to = { ArrowDown: at + 1, ArrowUp: at < 0 ? members.length - 1 : at - 1, Home: 0, End: members.length - 1 }[e.key];
  if (to === undefined || members.length === 0) {
    return false;
  }
  members[(to + members.length) % members.length]!.focus();
  e.preventDefault();
  return true;
}

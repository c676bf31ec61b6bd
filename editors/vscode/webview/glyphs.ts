/** The signs of every view, in two sets. Pure. */
const unicode = {
  open: "▾", closed: "▸", context: "◇", text: "✎", steer: "↳", queued: "○", running: "·", done: "✓", failed: "✗", refused: "⊘",
  cancelled: "–", waiting: "⧗", paused: "⏸", warn: "⚠", answer: "›", between: " · ", up: "↑", down: "↓", remove: "✕", menu: "▾", more: "…",
  route: "⇢", workflow: "≡", compaction: "⇣",
};

export type Glyphs = Record<keyof typeof unicode, string>;

const ascii: Glyphs = {
  open: "v", closed: ">", context: "<>", text: "*", steer: "->", queued: "o", running: ".", done: "+", failed: "x", refused: "/",
  cancelled: "-", waiting: "?", paused: "||", warn: "!", answer: ">", between: ", ", up: "^", down: "v", remove: "x", menu: "v", more: "...",
  route: "=>", workflow: "=", compaction: "~",
};

export function glyphs(set: "unicode" | "ascii"): Glyphs {
  return set === "ascii" ? ascii : unicode;
}

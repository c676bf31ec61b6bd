/** The signs that every view shares; the same as in the terminal and in Neovim. */
export const GLYPHS = {
  unicode: { active: "●", idle: "○", running: "·", paused: "⏸", waiting: "⧗", warn: "⚠", minus: "−", plus: "+", between: " · ", cut: "…", done: "✓", failed: "✗", refused: "⊘", cancelled: "–" },
  ascii: { active: "*", idle: "o", running: ".", paused: "=", waiting: "?", warn: "!", minus: "-", plus: "+", between: " - ", cut: "...", done: "+", failed: "x", refused: "/", cancelled: "-" },
} as const;
export type Glyphs = (typeof GLYPHS)["unicode" | "ascii"];

export function count(n: number, what: string): string {
  return `${n} ${what}${n === 1 ? "" : "s"}`;
}

/** "12s", "3m5s": short enough for a status bar. */
export function shortDuration(ms: number): string {
  const s = Math.floor(ms / 1000);
  return s < 60 ? `${s}s` : s < 3600 ? `${Math.floor(s / 60)}m${s % 60}s` : `${Math.floor(s / 3600)}h${Math.floor((s % 3600) / 60)}m`;
}

/** "0.1 s", "12.4 s", "3 min 5 s". */
export function duration(ms: number): string {
  if (ms < 60_000) {
    return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
  }
  const s = Math.floor(ms / 1000);
  return s < 3600 ? `${Math.floor(s / 60)} min ${s % 60} s` : `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
}

/** "612", "18.2k", "1.3M". */
export function tokens(n: number): string {
  return n < 1000 ? String(n) : n < 999_950 ? `${(n / 1000).toFixed(1)}k` : `${(n / 1e6).toFixed(1)}M`;
}

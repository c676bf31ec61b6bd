/** Numbers and text as every view shows them: the same words as in the terminal and in Neovim. Pure. */

const THIN_SPACE = "\u2009";

/** "0.1 s", "12.4 s", "3 min 5 s", "2 h 4 min". */
export function duration(ms: number): string {
  if (ms < 60_000) {
    return `${(Math.floor(Math.max(0, ms) / 100) / 10).toFixed(1)} s`;
  }
  const s = Math.floor(ms / 1000);
  return s < 3600 ? `${Math.floor(s / 60)} min ${s % 60} s` : `${Math.floor(s / 3600)} h ${Math.floor(s / 60) % 60} min`;
}

/** "612", "6.1k", "1.2M". */
export function tokens(n: number): string {
  if (n < 1000) {
    return String(n);
  }
  return n < 999_950 ? `${(n / 1000).toFixed(1)}k` : `${(n / 1e6).toFixed(1)}M`;
}

/** A whole number with thin spaces between thousands. */
export function thousands(n: number): string {
  return String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, THIN_SPACE);
}

/** "$0.04"; "" where nothing was charged. */
export function cost(usd: number): string {
  if (!(usd > 0)) {
    return "";
  }
  return usd < 0.005 ? "<$0.01" : `$${usd.toFixed(2)}`;
}

/** "1 hunk", "3 hunks". */
export function count(n: number, word: string): string {
  return `${n} ${word}${n === 1 ? "" : "s"}`;
}

/** Text that is safe to draw: no control characters and none that turn the direction of writing. */
export function clean(s: string): string {
  return s.replace(/[\u0000-\u0008\u000b-\u001f\u007f\u202a-\u202e\u2066-\u2069]/g, "\ufffd");
}

/** The first line that says something, and how many there are after it. */
export function firstLine(s: string): { line: string; more: number } {
  const trimmed = s.trim();
  const end = trimmed.indexOf("\n");
  if (end < 0) {
    return { line: clean(trimmed), more: 0 };
  }
  let more = 1;
  for (let at = trimmed.indexOf("\n", end + 1); at >= 0; at = trimmed.indexOf("\n", at + 1)) {
    more++;
  }
  return { line: clean(trimmed.slice(0, end).trimEnd()), more };
}

/** At most max characters, the last of them an ellipsis where something was cut. */
export function cut(s: string, max: number): string {
  return s.length <= max ? s : `${s.slice(0, max - 1).trimEnd()}…`;
}

/** How long ago: "just now", "5 min", "3 h", "2 d". */
export function ago(time: string, now: number): string {
  const minutes = Math.floor((now - Date.parse(time)) / 60_000);
  if (!(minutes >= 1)) {
    return "just now";
  }
  if (minutes < 60) {
    return `${minutes} min`;
  }
  return minutes < 48 * 60 ? `${Math.floor(minutes / 60)} h` : `${Math.floor(minutes / 1440)} d`;
}

/**
 * Markdown as markup that can do nothing: no HTML of the text's own, links and images that the view itself opens, code
 * with its buttons, and a place for charts. Text that still streams is drawn block by block (StreamingText).
 */
import MarkdownIt from "markdown-it";
import { coloured } from "./code";

const md = new MarkdownIt({ html: false, linkify: true, breaks: true });
md.linkify.set({ fuzzyLink: false, fuzzyEmail: false }); // "server.go" is a file, not a site
const escape = md.utils.escapeHtml;

/** "net/dial.go:12", "a.go:210-268", "pkg/x_test.go". A place needs a line, or a folder before the name. */
const PLACE = /^((?:[\w.@~-]*\/)*[\w.@-]+\.[A-Za-z]\w{0,9})(?::(\d+)(?:[-:]\d+)*)?$/;
const PLACES = /(?:[\w.@~-]*\/)*[\w.@-]+\.[A-Za-z]\w{0,9}:\d+(?:-\d+)?/g;

export function place(text: string): { path: string; line: number | undefined } | undefined {
  const m = PLACE.exec(text);
  if (!m || (m[2] === undefined && !m[1]!.includes("/"))) {
    return undefined;
  }
  return { path: m[1]!, line: m[2] === undefined ? undefined : Number(m[2]) };
}

/** Links to sites and mail, and to files; never a scheme that runs something. */
md.validateLink = (url) => /^(https?:|mailto:)/i.test(url) || /^data:image\/(png|gif|jpeg|webp);base64,/i.test(url) || !/^[a-z][a-z0-9+.-]*:/i.test(url);

md.renderer.rules["link_open"] = (tokens, i) => {
  const href = String(tokens[i]!.attrGet("href") ?? "");
  return /^(https?:|mailto:)/i.test(href)
    ? `<a href="#" data-url="${escape(href)}" title="${escape(href)}">`
    : `<a href="#" data-path="${escape(md.normalizeLinkText(href))}" title="${escape(href)}">`;
};
/** A picture on the web is never loaded by itself: its address could carry what was read here to somebody else. */
md.renderer.rules["image"] = (tokens, i) => {
  const src = String(tokens[i]!.attrGet("src") ?? "");
  const alt = escape(tokens[i]!.content || src);
  return /^https?:/i.test(src)
    ? `<a href="#" data-url="${escape(src)}" title="${escape(src)}">${alt}</a>`
    : `<img class="picture" tabindex="0" role="button" alt="${alt}" data-src="${escape(src)}">`;
};
md.renderer.rules["code_inline"] = (tokens, i) => {
  const text = tokens[i]!.content;
  const code = `<code>${escape(text)}</code>`;
  return place(text) ? `<a href="#" data-path="${escape(text)}">${code}</a>` : code;
};
md.renderer.rules["text"] = (tokens, i) => {
  const text = tokens[i]!.content;
  if (tokens[i]!.meta?.inLink || !text.includes(":")) {
    return escape(text);
  }
  let out = "";
  let at = 0;
  for (const m of text.matchAll(PLACES)) {
    out += `${escape(text.slice(at, m.index))}<a href="#" data-path="${escape(m[0])}">${escape(m[0])}</a>`;
    at = m.index + m[0].length;
  }
  return out + escape(text.slice(at));
};
md.core.ruler.push("in-link", (state) => {
  for (const block of state.tokens) {
    let depth = 0;
    for (const t of block.children ?? []) {
      depth += t.type === "link_open" ? 1 : t.type === "link_close" ? -1 : 0;
      t.meta = depth > 0 ? { inLink: true } : t.meta;
    }
  }
});
for (const cell of ["th_open", "td_open"]) {
  md.renderer.rules[cell] = (tokens, i, options, _env, self) => {
    const style = String(tokens[i]!.attrGet("style") ?? ""); // an inline style would be refused by the page's policy
    tokens[i]!.attrs = style ? [["class", style.replace("text-align:", "to-")]] : [];
    return self.renderToken(tokens, i, options);
  };
}
md.renderer.rules["fence"] = (tokens, i) => fence(tokens[i]!.info.trim().split(/\s+/)[0] ?? "", tokens[i]!.content);
md.renderer.rules["code_block"] = (tokens, i) => fence("", tokens[i]!.content);

function fence(language: string, code: string): string {
  if (language === "chart") {
    return `<figure class="chart" data-chart="${escape(code)}"></figure>`;
  }
  const body = coloured(code, language) ?? escape(code);
  return `<div class="code"><div class="code-head"><span>${escape(language)}</span>${CODE_BUTTONS}</div><pre tabindex="0"><code>${body}</code></pre></div>`;
}
const CODE_BUTTONS =
  '<button type="button" data-do="copy" aria-label="Copy the code">copy</button><button type="button" data-do="insert" aria-label="Insert the code at the caret of the editor">insert</button>';

/** A whole text. */
export function render(text: string): string {
  return md.render(text);
}

/** One line of markdown without its marks, for rows that have a line only. */
export function plain(line: string): string {
  const tokens = md.parseInline(line.replace(/^(#+|[-*+]|>)\s+/, ""), {})[0]?.children ?? [];
  return tokens.map((t) => t.content).join("");
}

/**
 * Where text that still grows can be cut so that what is before never changes: after a blank line, outside of a fence, where
 * the next block begins at the margin and is no part of a list, quote or table. `from` is an earlier such place.
 */
export function settled(text: string, from: number): { at: number; fence: number } {
  let at = from;
  let open: string | undefined;
  let fenceAt = -1;
  let blank = false;
  for (let start = from; start < text.length; ) {
    const end = text.indexOf("\n", start);
    const line = text.slice(start, end < 0 ? text.length : end);
    const ticks = /^(`{3,}|~{3,})/.exec(line)?.[1];
    if (open) {
      if (ticks && ticks[0] === open[0] && ticks.length >= open.length && line.trim() === ticks && end >= 0) {
        open = undefined;
        fenceAt = -1;
        at = end + 1;
      }
    } else {
      if (blank && /^[^\s>|\-*+\d]/.test(line)) {
        at = start;
      }
      if (ticks && end >= 0) {
        open = ticks;
        fenceAt = start;
      }
    }
    blank = line.trim() === "";
    if (end < 0) {
      break;
    }
    start = end + 1;
  }
  return { at, fence: fenceAt };
}

/**
 * Text that streams: blocks that can't change any more are drawn once, only the last one again. Fenced code that is still
 * open grows by its new characters. When the text is over, it is drawn as a whole.
 */
export class StreamingText {
  readonly el = document.createElement("div");
  private tail = document.createElement("div");
  private done = 0;
  private live: { start: number; shown: number; text: Text } | undefined;
  private length = -1;
  private finished = false;

  constructor() {
    this.el.className = "markdown";
    this.tail.className = "tail";
    this.el.append(this.tail);
  }

  update(text: string): void {
    if (this.finished || text.length === this.length) {
      return;
    }
    this.length = text.length;
    if (this.live && this.grow(text)) {
      return;
    }
    const { at, fence: fenceAt } = settled(text, this.done);
    const cut = fenceAt >= 0 ? fenceAt : at;
    if (cut > this.done) {
      this.tail.insertAdjacentHTML("beforebegin", render(text.slice(this.done, cut)));
      this.done = cut;
    }
    if (fenceAt >= 0) {
      this.open(text, fenceAt);
    } else {
      this.tail.innerHTML = render(text.slice(this.done));
    }
  }

  /** Draws an open fence as plain text that characters are appended to. */
  private open(text: string, start: number): void {
    const head = text.indexOf("\n", start) + 1;
    const language = text.slice(start, head).replace(/^[`~]+/, "").trim();
    this.tail.innerHTML = `<div class="code"><div class="code-head"><span>${escape(language)}</span></div><pre><code></code></pre></div>`;
    const node = document.createTextNode(text.slice(head));
    this.tail.querySelector("code")!.append(node);
    this.live = { start: head, shown: text.length, text: node };
  }

  /** True when all that came belongs to the open fence. */
  private grow(text: string): boolean {
    const live = this.live!;
    const lineStart = Math.max(live.start, text.lastIndexOf("\n", live.shown - 1) + 1);
    if (/^(`{3,}|~{3,})\s*$/m.test(text.slice(lineStart))) {
      this.live = undefined;
      return false;
    }
    live.text.appendData(text.slice(live.shown));
    live.shown = text.length;
    return true;
  }

  finish(text: string): void {
    if (!this.finished) {
      this.finished = true;
      this.el.innerHTML = render(text);
    }
  }
}

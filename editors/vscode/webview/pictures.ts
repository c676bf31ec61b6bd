/** Images and charts of an answer: loaded when they are drawn, shown large on demand. */
import { button, h } from "./dom";
import { request } from "./host";
import { icon } from "./icons";

/** What charts.js, a script of its own, gives: it is loaded with the first chart. */
export interface Charts {
  draw(figure: HTMLElement, source: string): void;
}
declare global {
  interface Window {
    agentLspCharts?: Charts;
  }
}

const script = document.currentScript as HTMLScriptElement | null;
let charts: Promise<Charts | undefined> | undefined;

function loadCharts(): Promise<Charts | undefined> {
  charts ??= new Promise((resolve) => {
    const el = document.createElement("script");
    el.src = (script?.src ?? "").replace(/chat\.js/, "charts.js");
    el.nonce = script?.nonce ?? "";
    el.onload = () => resolve(window.agentLspCharts);
    el.onerror = () => resolve(undefined);
    document.head.append(el);
  });
  return charts;
}

/** Fills what the markdown left open below an element. */
export function fillPictures(root: ParentNode): void {
  for (const img of root.querySelectorAll<HTMLImageElement>("img[data-src]:not([src])")) {
    void fillImage(img);
  }
  for (const figure of root.querySelectorAll<HTMLElement>("figure.chart:not([data-drawn])")) {
    figure.dataset["drawn"] = "";
    const source = figure.dataset["chart"] ?? "";
    void loadCharts().then((c) => {
      if (c) {
        c.draw(figure, source);
      } else {
        figure.append(h("pre", {}, source));
      }
    });
  }
}

async function fillImage(img: HTMLImageElement): Promise<void> {
  const src = img.dataset["src"]!;
  img.removeAttribute("data-src");
  const uri = src.startsWith("data:") ? src : (await request("editor/image", { src }).catch(() => undefined))?.uri;
  if (uri) {
    img.src = uri;
  } else {
    img.replaceWith(h("span", { class: "dim" }, `[${img.alt}]`));
  }
}

/** Shows an image as large as the view. */
export function lightbox(img: HTMLImageElement): void {
  const dialog = h("dialog", { class: "lightbox", "aria-label": img.alt },
    button("Close", () => dialog.close(), { class: "quiet close" }, icon("close")), h("img", { src: img.src, alt: img.alt }));
  dialog.addEventListener("click", (e) => e.target === dialog && dialog.close());
  dialog.addEventListener("close", () => {
    dialog.remove();
    img.focus();
  });
  document.body.append(dialog);
  dialog.showModal();
}

// The built webviews alone in Chromium: the page that the extension gives them, with its policy, VS Code's theme variables, and
// a stand-in for acquireVsCodeApi whose host plays what a scene says.
import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { themes } from "./themes.mjs";

const extension = join(import.meta.dirname, "../..");
const ORIGIN = "http://webview.test";
const NONCE = "n0nce";

/** The page's side of the stand-in: answers requests from the scene's table, keeps what the view said. */
function standIn({ scene, theme, kind }) {
  document.addEventListener("readystatechange", () => {
    for (const [name, value] of Object.entries(theme)) {
      document.documentElement.style.setProperty(`--vscode-${name}`, value);
    }
    document.body.classList.add(kind);
    document.body.style.backgroundColor = `var(--vscode-${scene.view === "chat" ? "sideBar" : "editor"}-background)`;
  });
  let kept = scene.kept;
  window.said = [];
  window.faults = [];
  window.addEventListener("securitypolicyviolation", (e) => window.faults.push(`policy: ${e.violatedDirective} ${e.blockedURI} ${e.sample}`));
  const tell = (m) => window.postMessage(m, "*");
  window.tell = tell;
  const answers = scene.answers;
  window.answersLater = (more) => Object.assign(answers, more);
  const held = []; // requests that a scene answers when it likes
  window.release = (response) => tell({ type: "response", id: held.shift(), ...response });
  const take = (m) => {
    window.said.push(m);
    if (m.type === "ready") {
      scene.greeting.forEach(tell);
    } else if (m.type === "request") {
      const found = answers[m.method];
      if (found === "held") {
        held.push(m.id);
        return;
      }
      tell(found
        ? { type: "response", id: m.id, result: found.byText ? (found.byText[m.params.text] ?? { start: 0, items: [] }) : found }
        : { type: "response", id: m.id, error: { message: `no ${m.method} here`, code: "not_found" } });
    }
  };
  window.acquireVsCodeApi = () => ({ postMessage: take, getState: () => kept, setState: (s) => (kept = s) });
}

export class Harness {
  static async start() {
    const h = new Harness();
    h.dir = mkdtempSync(join(tmpdir(), "agent-lsp-webview-"));
    if (spawnSync(process.execPath, [join(extension, "esbuild.mjs")], { stdio: "inherit" }).status !== 0) {
      throw new Error("the webviews don't build");
    }
    await build({ entryPoints: [join(extension, "webview/shell.ts")], outfile: join(h.dir, "shell.mjs"), bundle: true, platform: "node", format: "esm", logLevel: "warning" });
    h.shell = (await import(join(h.dir, "shell.mjs"))).shell;
    h.browser = await chromium.launch({
      executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", headless: true,
      args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--font-render-hinting=none"],
    });
    return h;
  }

  async stop() {
    await this.browser?.close();
    rmSync(this.dir, { recursive: true, force: true });
  }

  /** A page with one view in it. */
  async open(scene, { theme = "dark", width = scene.view === "chat" ? 430 : 1000, height = scene.view === "chat" ? 760 : 520, scale = 2 } = {}) {
    const context = await this.browser.newContext({ viewport: { width, height }, deviceScaleFactor: scale, reducedMotion: "reduce" });
    const page = await context.newPage();
    page.faults = [];
    page.on("pageerror", (e) => page.faults.push(String(e.stack ?? e)));
    page.on("console", (m) => m.type() === "error" && page.faults.push(m.text()));
    await page.route(`${ORIGIN}/**`, (route) => {
      const name = new URL(route.request().url()).pathname.slice(1);
      if (name === "") {
        return route.fulfill({ contentType: "text/html", body: this.shell({ title: scene.view, source: ORIGIN, nonce: NONCE, script: `${ORIGIN}/${scene.view}.js`, style: `${ORIGIN}/${scene.view}.css` }) });
      }
      if (scene.files?.[name]) {
        return route.fulfill({ contentType: "image/svg+xml", body: scene.files[name] });
      }
      return route.fulfill({ contentType: name.endsWith(".css") ? "text/css" : "text/javascript", body: readFileSync(join(extension, "dist", name)) });
    });
    if (scene.now) {
      await page.clock.install({ time: scene.now });
      await page.clock.resume();
    }
    await page.addInitScript(standIn, { scene: { view: scene.view, greeting: scene.greeting, answers: scene.answers, kept: scene.kept }, theme: themes[theme], kind: { dark: "vscode-dark", light: "vscode-light", contrast: "vscode-high-contrast" }[theme] });
    await page.goto(`${ORIGIN}/`);
    page.tell = (m) => page.evaluate((x) => window.tell(x), m);
    page.said = (type) => page.evaluate((t) => window.said.filter((m) => m.type === t), type);
    return page;
  }
}

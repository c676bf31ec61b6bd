/**
 * The real workbench for tests: VS Code's server from the test environment, driven in Chromium. Everything of a run lies
 * in one temporary folder, and the server's whole process group ends with it.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { chromium, type BrowserContext, type Frame, type Locator, type Page } from "playwright-core";

export const EXTENSION = resolve(import.meta.dirname, "..");
export const ROOT = resolve(EXTENSION, "../..");
const TESTENV = process.env["AGENT_LSP_TESTENV"] ?? join(ROOT, ".cache/testenv");
const VSCODE = join(TESTENV, "vscode");
export const SERVER = join(VSCODE, "server/out/server-main.js");
const STEP_MS = 30_000; // for one thing to be seen
const NEVER_MS = 10_000_000;
const START_MS = 90_000; // for the workbench to be there
const SAID_MAX = 30; // texts of the status bar, told of a failure
const LOG_LINES = 60; // of the server's log, told of a failure
const SIZE = { width: 1400, height: 900 };
export const BIN = resolve(process.env["AGENT_LSP_BIN"] ?? join(ROOT, "bin/agent-lsp"));

export type Theme = "dark" | "light";
const THEMES: Record<Theme, string> = { dark: "Dark Modern", light: "Light Modern" };

function need(path: string): string {
  if (!existsSync(path)) {
    throw new Error(`${path} is missing: make test-env build`);
  }
  return path;
}

const STATUS_ITEM = '.statusbar-item[id="agent-lsp.agent-lsp.agentLsp.status"]';

const SETTINGS = {
  "workbench.startupEditor": "none",
  "workbench.secondarySideBar.defaultVisibility": "hidden",
  "chat.disableAIFeatures": true,
  "workbench.tips.enabled": false,
  "workbench.enableExperiments": false,
  "telemetry.telemetryLevel": "off",
  "update.mode": "none",
  "extensions.autoCheckUpdates": false,
  "extensions.autoUpdate": false,
  "extensions.ignoreRecommendations": true,
  "git.enabled": false,
  "window.restoreWindows": "none",
  "files.hotExit": "off",
  "editor.minimap.enabled": false,
  "workbench.hover.delay": NEVER_MS, // a tooltip where the mouse happens to rest would lie over what is clicked next
  "editor.hover.delay": NEVER_MS,
  "workbench.colorTheme": THEMES.dark,
  "workbench.preferredDarkColorTheme": THEMES.dark,
  "workbench.preferredLightColorTheme": THEMES.light,
};

/** A path is the machine's matter: what a person sets for it elsewhere does not count here. */
const MACHINE = { "agentLsp.server.path": BIN };

export interface Options {
  /** more settings of the person */
  settings?: Record<string, unknown>;
  /** more settings of the machine */
  machine?: Record<string, unknown>;
  /** workspace trust is asked for, as on a desktop */
  trust?: boolean;
  /** more environment for the server, and so for agent-lsp */
  env?: Record<string, string>;
  /** the folder of installed extensions; absent: an extension under development is loaded */
  extensions?: string;
  /** which; absent: this one */
  development?: string;
}

export class Workbench {
  private readonly work = mkdtempSync(join(tmpdir(), "vsc-"));
  private server: ChildProcess | undefined;
  private browser: BrowserContext | undefined;
  private port = "";
  private log = "";
  private projects = 0;
  private readonly windows: Window[] = [];
  private readonly options: Options;

  constructor(options: Options = {}) {
    this.options = options;
  }

  async start(): Promise<this> {
    const w = this.work;
    for (const dir of ["home", "tmp", "ext", "srv/data/User", "srv/data/Machine", "state", "cache", "config"]) {
      mkdirSync(join(w, dir), { recursive: true });
    }
    chmodSync(join(w, "tmp"), 0o700);
    this.settings(this.options.settings ?? {});
    writeFileSync(join(w, "srv/data/Machine/settings.json"), JSON.stringify({ ...MACHINE, ...this.options.machine }));
    const own = this.environment;
    const { ANTHROPIC_API_KEY: _a, OPENAI_API_KEY: _o, GROQ_API_KEY: _g, ...env } = process.env;
    const args = [
      need(SERVER), "--host", "127.0.0.1", "--port", "0", "--without-connection-token",
      "--accept-server-license-terms", "--telemetry-level", "off", ...(this.options.trust ? [] : ["--disable-workspace-trust"]),
      "--enable-smoke-test-driver", "--server-data-dir", join(w, "srv"), "--extensions-dir", this.options.extensions ?? join(w, "ext"),
    ];
    const server = spawn(need(join(VSCODE, "node/node")), args, { env: { ...env, ...own }, detached: true, stdio: ["ignore", "pipe", "pipe"] });
    this.server = server;
    this.port = await new Promise<string>((done, fail) => {
      const heard = (data: Buffer) => {
        this.log += String(data);
        const port = /^Extension host agent listening on (\d+)$/m.exec(this.log)?.[1];
        if (port) {
          done(port);
        }
      };
      server.stdout.on("data", heard);
      server.stderr.on("data", heard);
      server.on("exit", (code) => fail(new Error(`VS Code's server ended with ${code}:\n${this.log}`)));
    });
    this.browser = await chromium.launchPersistentContext(join(w, "chrome"), {
      executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium", headless: true, viewport: SIZE,
      args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
      env: { ...env, ...own } as Record<string, string>,
    });
    this.browser.setDefaultTimeout(STEP_MS);
    return this;
  }

  /** The person's settings; the workbench reads them when a window opens. */
  private settings(more: Record<string, unknown>): void {
    writeFileSync(join(this.work, "srv/data/User/settings.json"), JSON.stringify({ ...SETTINGS, ...more }, undefined, 2));
  }

  /** The environment that agent-lsp has in this run: where it keeps what it knows. */
  get environment(): Record<string, string> {
    const at = (dir: string) => join(this.work, dir);
    return { HOME: at("home"), TMPDIR: at("tmp"), XDG_RUNTIME_DIR: at("tmp"), XDG_STATE_HOME: at("state"), XDG_CACHE_HOME: at("cache"), XDG_CONFIG_HOME: at("config"), AGENT_LSP_LOG: at("agent-lsp.log"), ...this.options.env };
  }

  /** A new folder with files, below this run's own. */
  project(files: Record<string, string>): string {
    const root = join(this.work, `p${++this.projects}`);
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(root, name)), { recursive: true });
      writeFileSync(join(root, name), text);
    }
    return root;
  }

  /** A copy of a folder as a project. */
  copy(from: string): string {
    const root = join(this.work, `p${++this.projects}`);
    cpSync(from, root, { recursive: true });
    return root;
  }

  private url(folder: string, tests?: string): string {
    const remote = (path: string) => `vscode-remote://127.0.0.1:${this.port}${path}`;
    const payload = this.options.extensions
      ? []
      : [["extensionDevelopmentPath", remote(this.options.development ?? EXTENSION)], ...(tests ? [["extensionTestsPath", remote(tests)], ["skipWelcome", "true"]] : [])];
    return `http://127.0.0.1:${this.port}/?folder=${folder}&payload=${encodeURIComponent(JSON.stringify(payload))}`;
  }

  async open(folder: string): Promise<Window> {
    const w = new Window(await this.browser!.newPage(), folder);
    this.windows.push(w);
    await w.listen();
    await w.page.goto(this.url(folder));
    await w.loaded();
    return w;
  }

  /** Runs tests inside of the extension host; gives the exit code. */
  async inside(folder: string, tests: string): Promise<number> {
    const page = await this.browser!.newPage();
    let timer: NodeJS.Timeout | undefined;
    const code = await new Promise<number>((done, fail) => {
      timer = setTimeout(() => fail(new Error("the tests in the extension host did not end in time")), START_MS);
      void page
        .exposeFunction("codeAutomationLog", () => undefined)
        .then(() => page.exposeFunction("codeAutomationExit", (c: number) => done(c)))
        .then(() => page.goto(this.url(folder, tests)));
    });
    clearTimeout(timer);
    await page.close();
    return code;
  }

  private serverPids(): number[] {
    return readdirSync("/proc").filter((pid) => {
      try {
        return /^\d+$/.test(pid) && readlinkSync(`/proc/${pid}/exe`) === BIN && readFileSync(`/proc/${pid}/environ`, "utf8").includes(`HOME=${join(this.work, "home")}\0`);
      } catch {
        return false; // it has ended, or is somebody else's
      }
    }).map(Number);
  }

  /** How many of this run's processes are agent-lsp. */
  servers(): number {
    return this.serverPids().length;
  }

  /** Kills the one that runs; over when another has taken its place. */
  async killServer(w: Window): Promise<void> {
    const [pid, ...more] = this.serverPids();
    if (pid === undefined || more.length > 0) {
      throw new Error(`${more.length + (pid ? 1 : 0)} servers run, not one`);
    }
    process.kill(pid, "SIGKILL");
    await w.until("another server runs", () => this.serverPids().some((p) => p !== pid));
  }

  /** What all windows show now, printed for whoever reads of a failure; FAILURES names a folder for pictures too. */
  async failed(name: string): Promise<void> {
    const dir = process.env["FAILURES"];
    for (const [i, w] of this.windows.entries()) {
      console.log(`-- ${name}: window ${i + 1} of ${this.windows.length}\n${await w.described().catch(String)}`);
      if (dir) {
        mkdirSync(dir, { recursive: true });
        await w.page.screenshot({ path: join(dir, `${name.replaceAll(/\W+/g, "-")}-${i + 1}.png`) }).catch(() => undefined);
      }
    }
    const log = this.environment["AGENT_LSP_LOG"]!;
    const lines = existsSync(log) ? readFileSync(log, "utf8").trimEnd().split("\n") : [];
    console.log(`-- ${name}: ${this.servers()} of agent-lsp run; the log ends\n${lines.slice(-LOG_LINES).join("\n")}`);
  }

  async stop(): Promise<void> {
    await this.browser?.close();
    const server = this.server;
    if (server?.pid !== undefined && server.exitCode === null) {
      const ended = new Promise((done) => server.on("exit", done));
      process.kill(-server.pid, "SIGTERM"); // the group: its children outlive it otherwise
      await ended;
    }
    rmSync(this.work, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** One window of the workbench, and what a person does and sees in it. */
export class Window {
  readonly page: Page;
  readonly folder: string;
  /** all that the status bar's item has said, with what comes and goes between two looks */
  readonly said: string[] = [];

  constructor(page: Page, folder: string) {
    this.page = page;
    this.folder = folder;
  }

  /** Before the first page: every text of the status bar's item is told, in order. */
  async listen(): Promise<void> {
    await this.page.exposeFunction("agentSays", (text: string) => this.said.push(text));
    await this.page.addInitScript((item: string) => {
      let last = "";
      const look = () => {
        const text = document.querySelector(item)?.textContent ?? "";
        if (text !== last) {
          last = text;
          void (globalThis as unknown as { agentSays(text: string): void }).agentSays(text);
        }
      };
      new MutationObserver(look).observe(document, { subtree: true, childList: true, characterData: true });
    }, STATUS_ITEM);
  }

  /** What a person would look at to understand a failure. */
  async described(): Promise<string> {
    const parts = [`the status bar said: ${this.said.slice(-SAID_MAX).join(" | ")}`];
    const see = async (what: string, of: string | Frame, selector: string) => {
      const all = (typeof of === "string" ? this.page : of).locator(selector);
      const texts = await all.evaluateAll((found) => found.filter((e) => (e as HTMLElement).offsetParent !== null).map((e) => ("value" in e ? String(e.value) : (e as HTMLElement).innerText)));
      parts.push(`${what}: ${texts.map((t) => t.replaceAll(/\n+/g, "\n    ")).join("\n  ") || "none"}`);
    };
    await see("open editors", "", ".tab");
    await see("the editor", "", ".editor-instance .view-lines");
    await see("quick input", "", ".quick-input-widget input[type=text]");
    await see("its rows", "", ".quick-input-widget .monaco-list-row");
    await see("dialogs", "", ".monaco-dialog-box");
    await see("notifications", "", ".notification-list-item");
    for (const f of this.page.frames()) {
      if ((await f.locator("#root").count().catch(() => 0)) > 0) {
        await see(`view “${await f.title()}”`, f, "#root");
        await see("  its prompt", f, "textarea");
      }
    }
    const focus = await Promise.all(this.page.frames().map((f) =>
      f.evaluate(() => (document.hasFocus() && document.activeElement?.tagName !== "IFRAME" ? `${document.title}: ${document.activeElement?.tagName}.${document.activeElement?.className}` : "")).catch(() => "")));
    parts.push(`the focus: ${focus.filter(Boolean).join(", ") || "outside"}`);
    return parts.join("\n");
  }

  async theme(theme: Theme): Promise<void> {
    const shown = this.page.locator(`.monaco-workbench.${theme === "dark" ? "vs-dark" : "vs"}`);
    if (!(await shown.isVisible())) {
      await this.command("Preferences: Toggle between Light/Dark Themes");
    }
    await shown.waitFor();
  }

  async loaded(): Promise<void> {
    await this.page.locator(".monaco-workbench").waitFor({ timeout: START_MS });
    await this.page.locator(".statusbar-item", { hasText: /^agent / }).waitFor({ timeout: START_MS });
  }

  status(text: string | RegExp): Locator {
    return this.page.locator(".statusbar-item", { hasText: text });
  }

  private get input(): Locator {
    return this.page.locator(".quick-input-widget input[type=text]");
  }

  /** Runs a command as a person does: by its title. */
  async command(title: string): Promise<void> {
    await this.page.keyboard.press("F1");
    await this.fill(`>${title}`, title);
  }

  async file(name: string): Promise<void> {
    await this.page.keyboard.press("Control+P");
    await this.fill(name, name);
    await this.page.locator(`.tab.active[data-resource-name="${name.split("/").at(-1)}"]`).waitFor();
    await this.page.locator(".editor-instance .view-lines").first().waitFor();
  }

  /**
   * Types into the quick input and takes the row of a name: once it is the one that Enter takes, for the rows of what stood
   * there before are still to be seen, and what was used lately comes first. Over when the input took it.
   */
  async fill(text: string, name: string): Promise<void> {
    await this.input.waitFor();
    const rows = this.page.locator(".quick-input-list .monaco-list-row");
    const named = async (those: Locator) => (await those.locator(".label-name").allTextContents()).some((label) => label.trim() === name);
    await this.until(`Enter takes the row “${name}”`, async () => {
      if ((await this.input.inputValue()) !== text) {
        await this.input.fill(text);
      }
      if (await named(rows.and(this.page.locator(".focused")))) {
        return true;
      }
      if (await named(rows)) {
        await this.input.press("ArrowDown");
      }
      return false;
    });
    await this.input.press("Enter");
    await this.until(`“${name}” is taken`, async () => !(await this.input.isVisible()) || (await this.input.inputValue()) !== text);
  }

  /** Answers an input box. */
  async answer(text: string): Promise<void> {
    await this.input.waitFor();
    await this.input.fill(text);
    await this.input.press("Enter");
    await this.page.locator(".quick-input-widget").waitFor({ state: "hidden" });
  }

  /** Puts the focus into the editor that is shown. */
  async focusEditor(): Promise<void> {
    await this.page.locator(".tab.active").click();
    await this.page.locator(".editor-instance .monaco-editor.focused").first().waitFor();
  }

  get lenses(): Locator {
    return this.page.locator(".codelens-decoration a");
  }

  get editor(): Locator {
    return this.page.locator(".editor-instance .monaco-editor").first();
  }

  /** The text of the editor on the screen, its lines from top to bottom. */
  async text(): Promise<string> {
    const lines = await this.page.locator(".editor-instance .view-lines .view-line").evaluateAll((all) =>
      all.map((l) => ({ top: (l as HTMLElement).offsetTop, text: l.textContent ?? "" })).sort((a, b) => a.top - b.top).map((l) => l.text));
    return lines.join("\n").replaceAll("\u00a0", " ");
  }

  /** Waits until something is true that no locator can say. */
  async until(what: string, fn: () => boolean | Promise<boolean>, ms = STEP_MS): Promise<void> {
    const deadline = Date.now() + ms;
    while (!(await fn())) {
      if (Date.now() > deadline) {
        throw new Error(`never true: ${what}`);
      }
      await this.page.waitForTimeout(50);
    }
  }

  /** A notification, in the list of all: under the smoke test driver the workbench shows none by itself. */
  async notification(text: string | RegExp): Promise<Locator> {
    const center = this.page.locator(".notifications-center.visible");
    if (!(await center.isVisible())) {
      await this.command("Notifications: Show Notifications");
      await center.waitFor();
    }
    const row = center.locator(".notification-list-item", { hasText: text }).first();
    await row.waitFor();
    return row;
  }

  async hideNotifications(): Promise<void> {
    await this.command("Notifications: Hide Notifications");
    await this.page.locator(".notifications-center.visible").waitFor({ state: "hidden" });
  }

  disk(name: string): string {
    return readFileSync(join(this.folder, name), "utf8");
  }

  /** A webview's own document: webviews lie over the workbench, not in it, so each is known by its title. */
  async view(title: "Agent" | "Agent context"): Promise<Frame> {
    let found: Frame | undefined;
    await this.until(`there is a view “${title}”`, async () => {
      for (const f of this.page.frames()) {
        if ((await f.title().catch(() => "")) === title && (await f.locator("#root").count().catch(() => 0)) > 0) {
          found = f;
        }
      }
      return found !== undefined;
    });
    return found!;
  }

  /** The editor's own preview of a page, by words of its first heading. */
  async preview(...titles: string[]): Promise<Frame> {
    let found: Frame | undefined;
    await this.until(`there is a page ${titles.join(" or ")}`, async () => {
      for (const f of this.page.frames()) {
        const heading = await f.locator("h1").first().textContent({ timeout: 1000 }).catch(() => "");
        if (titles.some((t) => heading?.includes(t))) {
          found = f;
        }
      }
      return found !== undefined;
    });
    return found!;
  }

  async reload(): Promise<void> {
    await this.page.reload();
    await this.loaded();
  }

  async close(): Promise<void> {
    await this.page.close();
  }
}

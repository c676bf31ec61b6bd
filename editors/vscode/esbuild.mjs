// Bundles what the extension ships into dist/: extension.js for the extension host, and for each webview a script
// with the style sheet that it imports. `--minify` for the package, `--tests` adds the tests that run inside VS Code.
import { build } from "esbuild";
import { rmSync } from "node:fs";

const has = (flag) => process.argv.includes(flag);
const shared = { bundle: true, target: "es2022", minify: has("--minify"), sourcemap: has("--minify") ? false : "linked", logLevel: "warning", absWorkingDir: import.meta.dirname };

rmSync(new URL("dist", import.meta.url), { recursive: true, force: true });
const host = { ...shared, platform: "node", format: "cjs", external: ["vscode", "mocha"] };
await Promise.all([
  build({ ...host, entryPoints: { extension: "src/extension.ts" }, outdir: "dist" }),
  build({ ...shared, platform: "browser", format: "iife", entryPoints: { chat: "webview/chat.ts", context: "webview/context.ts", charts: "webview/charts.ts" }, outdir: "dist" }),
  has("--tests") && build({ ...host, entryPoints: { inside: "tests/inside/index.ts" }, outdir: "dist" }),
]);

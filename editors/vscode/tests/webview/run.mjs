// The webviews alone, in Chromium: `node tests/webview/run.mjs` runs the tests, with --bench it measures frames instead.
import { bench } from "./bench.mjs";
import { Harness } from "./harness.mjs";
import { tests } from "./tests.mjs";

const harness = await Harness.start();
try {
  if (process.argv.includes("--bench")) {
    await bench(harness);
  } else {
    let failed = 0;
    for (const [name, fn] of Object.entries(tests)) {
      try {
        await fn(harness);
        console.log(`ok   ${name}`);
      } catch (fault) {
        failed++;
        console.log(`FAIL ${name}\n${fault.stack}`);
      }
    }
    console.log(`${Object.keys(tests).length - failed} passed, ${failed} failed`);
    process.exitCode = failed > 0 ? 1 : 0;
  }
} finally {
  await harness.stop();
}

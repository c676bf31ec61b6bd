import type { TestContext } from "node:test";
import type { Workbench } from "./workbench.ts";

/** After a test that failed: what the windows show. */
export function failure(bench: Workbench, t: object): Promise<void> | undefined {
  const { name, passed } = t as TestContext & { passed: boolean };
  return passed ? undefined : bench.failed(name);
}

/**
 * Records which functions a server uses at start and for the most common work: `bun scripts/bytecode-order.ts`.
 * The build stores their bytecode together (`bundle.ts`), so that fewer pages of the executable are read and kept in
 * memory. A record of older source still applies to unchanged functions; it is renewed before a release.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { builtWeir } from "./bench/executable.ts";
import { load, rawRequest } from "./bench/load.ts";
import { BODY, BRANCH_AUTOMATION, HOOK_HEADERS, initWeir, serveWeir } from "./bench/weir.ts";
import { BYTECODE_ORDER } from "./bundle.ts";

/**
 * The version, functions and modules.
 * Constants and texts are stored with their functions, and have 40 times as many lines.
 */
const KEPT = /^(?:v\d|[FMN] )/;
const CONNECTIONS = 8;
const SECONDS = 3;
const SETTLE_MS = 3000;
const LISTS = [
  "/organizations/current",
  "/actions",
  "/automations",
  "/action-runs?limit=50",
  "/connections",
  "/datasets",
  "/events",
];

const folder = mkdtempSync(join(tmpdir(), "weir-order-"));
const recorded = join(folder, "order");
try {
  const weir = await serveWeir(initWeir([builtWeir()], { BUN_BYTECODE_ORDER_OUT: recorded }));
  await weir.call("POST", "/api/v1/automations", BRANCH_AUTOMATION);
  const path = `/webhooks/${weir.organizationId}/bench`;
  const hook = rawRequest(weir.origin, "POST", path, HOOK_HEADERS, BODY);
  await load(weir.origin, hook, CONNECTIONS, SECONDS);
  const source = "export default () => ({ done: true })";
  const action = { name: "Script", kind: "run_script", definition: { source } };
  const { id } = await weir.call("POST", "/api/v1/actions", action);
  await weir.call("POST", `/api/v1/actions/${id}/run`);
  await Bun.sleep(SETTLE_MS); // Lets the engine's loops run.
  for (const list of LISTS) await weir.call("GET", `/api/v1${list}`);
  await fetch(weir.origin, { headers: { accept: "text/html" } });
  await weir.stop();
  const lines = readFileSync(recorded, "utf8")
    .split("\n")
    .filter((line) => KEPT.test(line));
  writeFileSync(BYTECODE_ORDER, `${lines.join("\n")}\n`);
  console.log(`${lines.length} lines`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

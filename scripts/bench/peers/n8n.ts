import { join } from "node:path";
import { tempFolder } from "../ending.ts";
import { freePort } from "../weir.ts";
import { nodeFile, npmFolder, runWith, startProcess } from "./ground.ts";
import type { Peer } from "./peer.ts";

const VERSION = "2.41.1";
const WORKFLOW_ID = "benchmark0000001";

/** Webhook → Set → Respond to Webhook: the same check of the payload as Weir's branch. */
const WORKFLOW = {
  id: WORKFLOW_ID,
  name: "Bench",
  active: false,
  settings: { executionOrder: "v1", saveDataSuccessExecution: "none", saveExecutionProgress: false },
  nodes: [
    {
      id: "webhook",
      name: "Webhook",
      type: "n8n-nodes-base.webhook",
      typeVersion: 2,
      position: [0, 0],
      webhookId: "0b8f5a0e-0000-4000-8000-000000000001",
      parameters: { httpMethod: "POST", path: "bench", responseMode: "responseNode", options: {} },
    },
    {
      id: "set",
      name: "Set",
      type: "n8n-nodes-base.set",
      typeVersion: 3.4,
      position: [200, 0],
      parameters: {
        mode: "manual",
        assignments: {
          assignments: [
            {
              id: "branch",
              name: "branch",
              value: '={{ $json.body.order.total > 100 ? "big" : "small" }}',
              type: "string",
            },
          ],
        },
        options: {},
      },
    },
    {
      id: "respond",
      name: "Respond",
      type: "n8n-nodes-base.respondToWebhook",
      typeVersion: 1.1,
      position: [400, 0],
      parameters: { respondWith: "firstIncomingItem", options: {} },
    },
  ],
  connections: {
    Webhook: { main: [[{ node: "Set", type: "main", index: 0 }]] },
    Set: { main: [[{ node: "Respond", type: "main", index: 0 }]] },
  },
};

/**
 * n8n in its fastest configuration: the legacy expression engine (no isolate), SQLite, nothing kept of successful runs,
 * no telemetry, no task runner. It verifies no signature.
 */
export async function startN8n(): Promise<Peer> {
  const folder = await npmFolder("n8n", {
    packages: { n8n: VERSION },
    overrides: { linkedom: "0.18.12" }, // A later one depends on a package that isn't available everywhere.
    compiled: ["sqlite3"],
  });
  const home = tempFolder();
  const [port, broker] = [freePort(), freePort()];
  const node = await nodeFile();
  const env = {
    PATH: `${join(node, "..")}:${process.env.PATH ?? ""}`,
    HOME: home,
    N8N_USER_FOLDER: home,
    NODE_ENV: "production",
    DB_TYPE: "sqlite",
    N8N_EXPRESSION_ENGINE: "legacy",
    EXECUTIONS_DATA_SAVE_ON_SUCCESS: "none",
    N8N_RUNNERS_MODE: "external",
    N8N_RUNNERS_AUTH_TOKEN: "none",
    N8N_RUNNERS_BROKER_PORT: String(broker),
    N8N_LISTEN_ADDRESS: "127.0.0.1",
    N8N_PORT: String(port),
    N8N_LOG_LEVEL: "error",
    N8N_DIAGNOSTICS_ENABLED: "false",
    N8N_VERSION_NOTIFICATIONS_ENABLED: "false",
    N8N_TEMPLATES_ENABLED: "false",
    N8N_PERSONALIZATION_ENABLED: "false",
  };
  const n8n = join(folder, "node_modules/n8n/bin/n8n");
  const file = join(home, "workflow.json");
  await Bun.write(file, JSON.stringify([WORKFLOW]));
  await runWith([node, n8n, "import:workflow", `--input=${file}`], env);
  await runWith([node, n8n, "publish:workflow", `--id=${WORKFLOW_ID}`], env);
  const child = startProcess([node, n8n, "start"], env);
  return {
    name: `n8n ${VERSION}`,
    origin: `http://127.0.0.1:${port}`,
    path: "/webhook/bench",
    headers: {},
    isRight: (reply) => reply === '{"branch":"big"}',
    child,
  };
}

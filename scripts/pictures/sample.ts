import { calls, type Heard, says } from "../../test/peers/model.ts";
import { endpoint, httpApi } from "../../test/support/catalog.ts";

const SALES =
  "SELECT day, revenue, tea FROM marts.daily_revenue WHERE $day IS NULL OR day >= $day ORDER BY day";

const DASHBOARD = {
  name: "Shop floor",
  description: "Revenue by day, from the shop's own exports",
  filters: [{ key: "day", label: "From day", type: "date" }],
  panels: [
    {
      key: "total",
      title: "Revenue",
      sql: `SELECT sum(revenue) AS revenue FROM (${SALES})`,
      chart: { kind: "number", y: ["revenue"], unit: "CHF", goal: 20_000 },
      x: 0,
      y: 0,
      width: 3,
      height: 3,
    },
    {
      key: "days",
      title: "Revenue by day",
      sql: SALES,
      chart: { kind: "bar", x: "day", y: ["revenue", "tea"] },
      x: 3,
      y: 0,
      width: 9,
      height: 5,
    },
    { key: "rows", title: "Days", sql: SALES, x: 0, y: 5, width: 6, height: 4 },
    { key: "broken", title: "Returns", sql: "SELECT * FROM raw.returns", x: 6, y: 5, width: 6, height: 4 },
  ],
};

/** A model that reads the tables and answers. */
export const answer = ({ body }: Heard) =>
  JSON.stringify(body.messages.at(-1)).includes("tool")
    ? says(
        "The best day was **30 May**, with CHF 2,981.40 of revenue.\n\n| Day | Revenue |\n| --- | ---: |\n| 30 May | 2,981.40 |\n| 3 May | 1,655.60 |",
      )
    : calls("query", { sql: "SELECT day, revenue FROM marts.daily_revenue ORDER BY revenue DESC LIMIT 2" });

const script = (source: string) => ({ kind: "run_script", definition: { source } });

function automations(receiver: string) {
  const items = "export default () => [{ id: 1001 }, { id: 1002 }, { id: 1003 }]";
  return {
    orders: {
      name: "Fulfil orders of the web shop",
      triggerType: "schedule",
      description: "Reserves stock for new orders and asks before large ones are shipped.",
      tags: ["shop", "orders"],
      config: {
        schedule: { cron: "0 7 * * 1-5", timezone: "Europe/Zurich" },
        steps: [
          { key: "load", name: "Load new orders", ...script(items) },
          { key: "stock", name: "Check stock", ...script("export default () => ({ left: 12 })") },
          {
            key: "route",
            name: "How large?",
            kind: "conditional_branch",
            definition: {
              branches: [
                { key: "large", when: "size(steps.load.result.output) > 2" },
                { key: "medium", when: "size(steps.load.result.output) > 1" },
              ],
              else: "small",
            },
            dependsOn: ["load", "stock"],
          },
          {
            key: "approve",
            name: "Approve the large order",
            kind: "approval_gate",
            definition: {
              title: "Ship 3 orders worth CHF 4,120.00?",
              description: "One of them goes to a new customer.",
            },
            dependsOn: ["route:large"],
          },
          {
            key: "reserve",
            name: "Reserve each line in the warehouse",
            ...script("export default () => true"),
            forEach: "steps.load.result.output",
            dependsOn: ["route:medium", "approve"],
          },
          {
            key: "note",
            name: "Write a note",
            ...script("export default () => 'small'"),
            dependsOn: ["route:small"],
          },
        ],
      },
    },
    failing: {
      name: "Send totals to the accountant",
      triggerType: "manual",
      tags: ["finance"],
      config: {
        inputSchema: {
          type: "object",
          properties: { month: { type: "string", title: "Month" } },
          required: ["month"],
        },
        steps: [
          { key: "totals", name: "Add up", ...script("export default () => ({ total: 4120 })") },
          {
            key: "send",
            name: "Send to the accountant",
            kind: "http_request",
            definition: { method: "POST", url: `${receiver}/nowhere`, body: "{{steps.totals.result}}" },
            dependsOn: ["totals"],
          },
          {
            key: "say",
            name: "Tell the team",
            ...script("export default () => true"),
            dependsOn: ["send"],
          },
        ],
      },
    },
  };
}

const PATIENCE_MS = 30_000;

/** Waits until the result exists. */
async function pending<T>(look: () => Promise<T>): Promise<T> {
  for (const start = performance.now(); ; await Bun.sleep(200)) {
    try {
      return await look();
    } catch (error) {
      if (performance.now() - start > PATIENCE_MS) throw error;
    }
  }
}

/** Adds what the demo's workspace lacks, so that each page shows its purpose. Returns the IDs that paths refer to. */
export async function fillWorkspace(
  { origin, token }: { origin: string; token: string },
  closed: string,
): Promise<Record<string, string>> {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const ask = async (path: string, body: object) => {
    const reply = await fetch(`${origin}/api/v1/${path}`, {
      method: "POST",
      headers,
      body: JSON.stringify(body),
    });
    const text = await reply.text();
    if (!reply.ok) throw new Error(`${path}: ${reply.status} ${text}`);
    return text;
  };
  const post = async (path: string, body: object): Promise<{ id: string }> =>
    JSON.parse(await ask(path, body));
  const { orders, failing } = automations(closed);
  const flow = await post("automations", orders);
  const waits = await post(`automations/${flow.id}/run`, {});
  const broken = await post("automations", failing);
  const failed = await post(`automations/${broken.id}/run`, { input: { month: "May" } });
  const dashboard = await post("dashboards", DASHBOARD);
  const spec = await post("agents/specs", {
    markdown:
      "---\nname: Bookkeeper\ndescription: Checks invoices against orders.\ntools:\n  - query\n  - datasets\n---\nYou check invoices against the orders and name what differs.\n",
  });
  const thread = await post("chat/threads", { agentSpecId: spec.id, title: "Best day of the month" });
  await ask(`chat/threads/${thread.id}/turns/stream`, { content: "Which day was the best this month?" });
  const api = await post(
    "api-catalog/http",
    httpApi("Warehouse API", { endpoints: [endpoint(), endpoint("reserve", { method: "POST" })] }),
  );
  const connection = await post("connections", {
    name: "Accounting",
    provider: "postgres",
    config: { host: "127.0.0.1", port: 9, database: "books" },
    credentials: { user: "ada", password: "secret" },
  });
  await post(`connections/${connection.id}/verify`, {});
  const webhook = await post("webhooks", { url: `${closed}/events`, events: ["automation.*"] });
  await post("organizations/invitations", { email: "kim@kettle-and-leaf.example" });
  const action = await post("actions", {
    name: "Ask the warehouse",
    kind: "http_request",
    definition: { url: `${closed}/stock` },
  });
  await post(`actions/${action.id}/run`, {});
  const first = async (path: string): Promise<string> => {
    const reply = await fetch(`${origin}/api/v1/${path}`, { headers });
    const lists = Object.values(await reply.json()).filter((value) => Array.isArray(value));
    const id = lists[0]?.[0]?.id;
    if (!id) throw new Error(`Nothing is at ${path}.`);
    return id;
  };
  return {
    APPROVAL: await pending(() => first("approvals")),
    STEPRUN: await pending(() => first("action-runs?statuses=failed")),
    ACTION: action.id,
    FILES: await first("connections?q=shop"),
    TEMPLATE: await first("templates?built_in=true"),
    DELIVERY: await first("webhook-deliveries"),
    ORGANIZATION: await first("organizations"),
    FLOW: flow.id,
    WAITS: waits.id,
    BROKEN: broken.id,
    FAILED: failed.id,
    DASHBOARD: dashboard.id,
    AGENT: spec.id,
    THREAD: thread.id,
    API: api.id,
    INVALID: connection.id,
    WEBHOOK: webhook.id,
  };
}

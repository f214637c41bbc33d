import type { Static } from "@sinclair/typebox";
import type { Artifact } from "../../resources/artifacts/wire.ts";
import type { Decision } from "../../resources/decisions/wire.ts";
import type { EventPage, Verification } from "../../resources/events/wire.ts";
import type { QueryResult } from "../../resources/query/wire.ts";
import { type Client, unixSeconds } from "./client.ts";
import type { Truth } from "./sample.ts";
import type { Show, Webhook } from "./setting.ts";
import { counted, expect, money, type Scene } from "./stage.ts";
import type { Ended } from "./webhook.ts";

const query = (client: Client, sql: string) =>
  client.post<Static<typeof QueryResult>>("/api/v1/query", { sql });

/** Returns how many orders earlier loads added. */
export async function ordersInLake(client: Client): Promise<number> {
  const { rows } = await query(
    client,
    "SELECT count(*) AS n FROM information_schema.tables WHERE table_schema = 'raw' AND table_name = 'shop__orders'",
  );
  if (Number(rows[0]?.n) === 0) return 0;
  return Number((await query(client, "SELECT count(*) AS n FROM raw.shop__orders")).rows[0]?.n);
}

/** Shows rows of the lake, and compares them with the expected values from the files. */
export async function showResult({ client }: Show, scene: Scene, truth: Truth): Promise<void> {
  const sql = "SELECT * EXCLUDE (_dlt_id, _dlt_load_id) FROM marts.daily_revenue ORDER BY day DESC LIMIT 3";
  const { rows } = await query(client, sql);
  scene.tell("query", sql);
  scene.table(rows);
  const counts = await query(
    client,
    "SELECT (SELECT count(*) FROM raw.shop__orders) AS orders, (SELECT count(*) FROM marts.daily_revenue) AS days",
  );
  scene.facts({ rows, ...counts.rows[0] });
  const newest = rows[0];
  expect(
    Number(counts.rows[0]?.orders) === truth.orders,
    `The lake has ${counts.rows[0]?.orders} orders, but the files have ${truth.orders}.`,
  );
  expect(
    Number(counts.rows[0]?.days) === truth.days,
    `The lake has ${counts.rows[0]?.days} days, but the files have ${truth.days}.`,
  );
  expect(
    String(newest?.day).startsWith(truth.newestDay) && Number(newest?.revenue) === truth.newestRevenue,
    `The latest day is ${newest?.day} with ${newest?.revenue}; in the files it is ${truth.newestDay} with ${money(truth.newestRevenue)}.`,
  );
}

/** Shows that a request signed with another secret is rejected without effects. */
export async function forge(
  { client, receiver, clock }: Show,
  scene: Scene,
  webhook: Webhook,
): Promise<void> {
  const deliveries = () =>
    client.get<{ items: unknown[] }>(
      `/api/v1/webhook-deliveries?automation_id=${webhook.automationId}&limit=100`,
    );
  const before = (await deliveries()).items.length;
  const body = JSON.stringify({ event: "orders.exported", shop: "not-this-one" });
  const reply = await client.deliver({
    url: webhook.url,
    secret: "not the webhook's secret",
    body,
    sentAt: unixSeconds(clock),
  });
  const detail = (reply.body as { detail?: string }).detail ?? "";
  scene.tell("answer", `${reply.status} ${detail}`);
  scene.facts({ status: reply.status, detail });
  expect(reply.status === 401, `The forged webhook returned ${reply.status}.`);
  expect(
    (await deliveries()).items.length === before && receiver.take().length === 0,
    "The forged webhook was stored or started a run.",
  );
  scene.tell("", "Nothing was stored, and nothing ran.");
}

/** Shows the dashboard of the run, and its location. */
export async function showBoard(show: Show, scene: Scene, { steps }: Ended): Promise<string> {
  const { client, origin } = show;
  const { artifactId, warnings = null } = steps.board?.result ?? {};
  expect(typeof artifactId === "string", "The run created no dashboard.");
  const { title, content } = await client.get<Static<typeof Artifact>>(`/api/v1/artifacts/${artifactId}`);
  const board = content as unknown as {
    data: { panels: { title: string; rows: unknown[]; svg: string | null }[] };
  };
  for (const { title: name, rows, svg } of board.data.panels) {
    scene.tell("panel", `${name}: ${counted(rows.length, "row")}${svg === null ? ", table" : ", chart"}`);
  }
  const url = `${origin}/artifacts/${artifactId}`;
  scene.tell("open", url);
  scene.facts({ artifactId, title, panels: board.data.panels.map((panel) => panel.title), warnings, url });
  expect(
    board.data.panels.some(({ svg }) => svg !== null) && JSON.stringify(warnings) === "[]",
    "The dashboard has no chart.",
  );
  return artifactId;
}

/** Shows the approval that the run requested, and its outcome. */
export async function showApproval(show: Show, scene: Scene, { approvalId, steps }: Ended): Promise<void> {
  const { client, origin } = show;
  expect(approvalId !== null, "The busy day opened no approval.");
  const decision = await client.get<Static<typeof Decision>>(`/api/v1/decisions/${approvalId}`);
  scene.tell("asked", decision.title);
  scene.tell("decided", `${decision.decisionValue}, by the owner; the run held no worker while it waited`);
  scene.tell("open", `${origin}/approvals`);
  scene.facts({
    approvalId,
    title: decision.title,
    decisionValue: decision.decisionValue,
    url: `${origin}/approvals`,
  });
  expect(
    decision.decisionValue === "approved" && steps.approve?.status === "completed",
    `The approval ended as ${decision.status}.`,
  );
}

/** Shows the events of one webhook, and that the audit log is intact. */
export async function showAuditLog(
  { client }: Show,
  scene: Scene,
  { correlationId, steps }: Ended,
): Promise<void> {
  const completed = Object.values(steps).filter(({ status }) => status === "completed").length;
  const { items } = await client.get<Static<typeof EventPage>>(
    `/api/v1/events?correlationId=${correlationId}&order=asc&limit=200`,
  );
  const shown = items.filter(({ type }) => type !== "action.progress");
  const start = Date.parse(items[0]?.timestamp ?? "");
  for (const { type, timestamp, data, actor } of shown) {
    const after = `+${((Date.parse(timestamp) - start) / 1000).toFixed(3)} s`;
    const about = [
      data.kind,
      data.recordsProcessed == null ? null : counted(Number(data.recordsProcessed), "row"),
    ]
      .filter(Boolean)
      .join(", ");
    scene.tell(after, `${type.padEnd(22)} ${actor.type.padEnd(11)} ${about}`.trimEnd());
  }
  const { valid, checked } = await client.get<Static<typeof Verification>>("/api/v1/events/verify");
  scene.tell(
    "chain",
    `${counted(checked, "event")} of this workspace verified, ${valid ? "valid" : "not valid"}`,
  );
  scene.facts({ correlationId, events: items.map(({ type }) => type), valid, checked });
  const types = items.map(({ type }) => type);
  expect(valid, "The audit log is not valid.");
  expect(
    types.includes("automation.triggered") && types.includes("automation.completed"),
    "The audit log has no events of the automation.",
  );
  expect(
    types.filter((type) => type === "action.completed").length === completed,
    `The audit log doesn't have events of the ${completed} completed steps.`,
  );
}

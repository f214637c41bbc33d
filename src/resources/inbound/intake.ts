import { and, desc, eq, gt, isNull, sql } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { AppError, invalid } from "../../base/errors.ts";
import { isObject, type Json, type JsonObject, SHORT_CHARACTERS } from "../../base/json.ts";
import { writeJson } from "../../base/json-write.ts";
import { LongJson } from "../../base/long-json.ts";
import { type App, type Context, contextFor, type WriteContext, write } from "../../context.ts";
import { PRESETS } from "../../crypto/presets.ts";
import { storeUnstored, type UnstoredDelivery } from "../../flows/delivery.ts";
import type { StoredTrigger } from "../../flows/long-payload.ts";
import { automationRunTopic } from "../../flows/save.ts";
import { startAutomationRun } from "../../flows/start.ts";
import type { Trigger } from "../../queue/enqueue.ts";
import { gathered } from "../../store/gathered.ts";
import { prepared } from "../../store/prepared.ts";
import type { ReadDb } from "../../store/store.ts";
import { version } from "../../version.ts";
import { DEFAULT_WAIT_SECONDS } from "../automations/config.ts";
import { type AutomationRunRow, automationRuns } from "../automations/table.ts";
import type { Webhook } from "./gate.ts";
import { payloadOf, queryOf } from "./payload.ts";
import { type Stamp, secretHeaders } from "./sender.ts";
import { takeStamp } from "./stamps.ts";
import { type DeliveryRow, webhookDeliveries } from "./table.ts";

/** A repeat within this time starts nothing (docs/decisions/webhooks-in.md). */
const REPEAT_MS = 24 * 60 * 60 * 1000;
/** Another process may end the run without a signal here. */
const POLL_MS = 1_000;
const MAX_KEY_CHARACTERS = 255;

/** An accepted request. */
export interface Arrived {
  headers: Headers;
  url: URL;
  body: Uint8Array;
  /** Its signature, if that is accepted only once. */
  stamp: Stamp | null;
  address: string;
  correlationId: string;
}

export interface Accepted {
  deliveryId: string;
  run: AutomationRunRow;
}

/**
 * An accepted request with what templates see of it. A repeated request has its own payload, since the first one's is
 * deleted.
 */
export type Answerable = Accepted & { trigger: StoredTrigger };

const earlierByKey = prepared((db: ReadDb) =>
  db
    .select({ id: webhookDeliveries.id, automationRunId: webhookDeliveries.automationRunId })
    .from(webhookDeliveries)
    .where(
      and(
        eq(webhookDeliveries.automationId, sql.placeholder("automationId")),
        eq(webhookDeliveries.repeatKey, sql.placeholder("key")),
        gt(webhookDeliveries.receivedAt, sql.placeholder("since")),
        isNull(webhookDeliveries.replayOf),
      ),
    )
    .orderBy(desc(webhookDeliveries.id))
    .limit(1)
    .prepare(),
);

const runById = prepared((db: ReadDb) =>
  db
    .select()
    .from(automationRuns)
    .where(eq(automationRuns.id, sql.placeholder("id")))
    .prepare(),
);

/** Acts on behalf of the sender, who isn't a user. */
const contextOf = (app: App, webhook: Webhook, arrived: Arrived): Context =>
  contextFor(app, {
    organizationId: webhook.organizationId,
    role: "member",
    actor: { type: "system", id: "webhook", process: "weir", version, ip: arrived.address },
    correlationId: arrived.correlationId,
  });

/** Stores the delivery and starts its run, in one transaction. A repeated request gets the first one's. */
export async function accept(app: App, webhook: Webhook, arrived: Arrived): Promise<Answerable> {
  const query = queryOf(arrived.url);
  const payload = await payloadOf(arrived);
  const stored = arrived.body.length > MAX_SHORT_BYTES ? await asStored(payload) : payload;
  const key = repeatKey(webhook, arrived.headers, payload);
  const headers = headersOf(webhook, arrived.headers);
  const accepted = await write(contextOf(app, webhook, arrived), async (tx) => {
    const earlier = key === null ? null : await findEarlier(tx, webhook, key);
    if (arrived.stamp !== null) await takeStamp(tx, webhook, arrived.stamp, earlier !== null);
    if (earlier) return earlier;
    const delivery = {
      payload: stored,
      headers,
      query,
      repeatKey: key,
      ipAddress: arrived.address,
      isKept: webhook.config.debug === true,
      replayOf: null,
    };
    return storeDelivery(tx, webhook, delivery, payload);
  });
  return { ...accepted, trigger: { payload, headers, query } };
}

/** Base64 and escapes make a body longer. */
const MAX_SHORT_BYTES = SHORT_CHARACTERS / 8;

/** A payload as it is stored: as text if it is long. */
async function asStored(payload: Json): Promise<Json | LongJson> {
  const text = await writeJson(payload);
  return text.length > SHORT_CHARACTERS ? new LongJson(text) : payload;
}

const BY_WEBHOOK = { method: "webhook", sourceType: "system" } as const;

type NewDelivery = Pick<
  DeliveryRow,
  "payload" | "headers" | "query" | "repeatKey" | "ipAddress" | "isKept" | "replayOf"
>;

/**
 * Stores a new delivery with its run, in the caller's transaction. `payload` is the value of a long payload, if known.
 */
export async function storeDelivery(
  tx: WriteContext,
  webhook: Pick<Webhook, "id" | "config" | "version">,
  delivery: NewDelivery,
  payload: Json | LongJson = delivery.payload,
  by: Pick<Trigger, "method" | "sourceType"> & { sourceId?: string } = BY_WEBHOOK,
): Promise<Accepted> {
  const id = tx.ids.uuid();
  const at = timestamp(tx.clock);
  const row: DeliveryRow = {
    id,
    organizationId: tx.organizationId,
    automationId: webhook.id,
    automationRunId: null,
    status: "processing",
    attempts: 1,
    replyCode: null,
    receivedAt: at,
    updatedAt: at,
    nextAttemptAt: null,
    error: null,
    ...delivery,
  };
  const unstored: UnstoredDelivery = { row, isStored: false };
  const run = await startAutomationRun(
    tx,
    { id: webhook.id, config: webhook.config as JsonObject, version: webhook.version },
    {
      trigger: { sourceId: id, ...by },
      scope: { payload, headers: delivery.headers, query: delivery.query },
      delivery: unstored,
    },
  );
  await storeUnstored(tx, unstored, run.id);
  return { deliveryId: id, run };
}

async function findEarlier(tx: WriteContext, webhook: Webhook, key: string): Promise<Accepted | null> {
  const [delivery] = await earlierByKey(tx.db).all({
    automationId: webhook.id,
    key,
    since: timestamp(tx.clock, -REPEAT_MS),
  });
  if (!delivery) return null;
  const [run] = await runById(tx.db).all({ id: delivery.automationRunId });
  return run ? { deliveryId: delivery.id, run } : null;
}

/** Returns the sender's own message ID. Throws `invalid` if it is too long. */
function repeatKey({ config }: Webhook, headers: Headers, payload: Json): string | null {
  if (config.signaturePreset !== undefined) {
    const at = PRESETS[config.signaturePreset].repeatKey;
    const [part, name] = at;
    const own = part === "header" ? headers.get(name) : isObject(payload) ? payload[name] : null;
    if (typeof own === "number") return String(own);
    if (typeof own === "string" && own !== "") return short(own, at);
  }
  const key = headers.get("idempotency-key") || headers.get("webhook-id");
  return key ? short(key, ["header", "Idempotency-Key"]) : null;
}

function short(key: string, loc: readonly string[]): string {
  if (key.length <= MAX_KEY_CHARACTERS) return key;
  throw invalid(loc, `Input should have at most ${MAX_KEY_CHARACTERS} characters`, "string_too_long");
}

/** Headers with credentials, which are hidden in stored requests. */
export const CREDENTIAL_HEADERS: ReadonlySet<string> = new Set([
  "authorization",
  "cookie",
  "proxy-authorization",
  "x-api-key",
]);

function headersOf(webhook: Webhook, headers: Headers): JsonObject {
  const own = secretHeaders(webhook);
  const isHidden = (name: string) => CREDENTIAL_HEADERS.has(name) || own.includes(name);
  return Object.fromEntries([...headers].map(([name, value]) => [name, isHidden(name) ? "***" : value]));
}

const runsById = prepared((db: ReadDb) =>
  db
    .select()
    .from(automationRuns)
    .where(sql`${automationRuns.id} in (select value from json_each(${sql.placeholder("ids")}))`)
    .prepare(),
);

/** Runs that end at the same time are read together. */
const currentRun = gathered(async (db, ids) => {
  const rows = await runsById(db).all({ ids: JSON.stringify(ids) });
  return new Map(rows.map((row) => [row.id, row]));
});

async function runNow({ store }: App, id: string): Promise<AutomationRunRow> {
  const run = await currentRun(store.db, id);
  if (!run) throw new AppError("internal", "The run of an accepted webhook no longer exists.");
  return run;
}

/** Returns the run once it has finished, or after `waitSeconds`, or immediately if it is retried later than that. */
export async function waitForRun(
  app: App,
  webhook: Webhook,
  accepted: Accepted,
  signal: AbortSignal,
): Promise<AutomationRunRow> {
  const until = app.clock.monotonic() + (webhook.config.waitSeconds ?? DEFAULT_WAIT_SECONDS) * 1000;
  let { run } = accepted;
  let isNew = true; // A run that was just accepted can't have changed.
  while (run.completedAt === null) {
    const left = until - app.clock.monotonic();
    const pause = run.dueAt === null ? 0 : Date.parse(run.dueAt) - app.clock.now().getTime();
    if (left <= 0 || pause > left || signal.aborted || app.closing.aborted) return run;
    const changed = app.signals.wait(automationRunTopic(run.id), Math.min(left, POLL_MS), signal);
    if (!isNew) {
      run = await runNow(app, run.id);
      if (run.completedAt !== null) return run;
    }
    isNew = false;
    await changed;
    run = await runNow(app, run.id);
  }
  return run;
}

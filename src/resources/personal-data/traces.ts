import { and, eq, inArray, isNotNull, sql } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { canonicalJson, type Json, type JsonObject } from "../../base/json.ts";
import type { App } from "../../context.ts";
import { artifacts } from "../artifacts/table.ts";
import {
  automationRunConfigs,
  automationRunItems,
  automationRunResults,
  automationRuns,
} from "../automations/table.ts";
import { decisions } from "../decisions/table.ts";
import { redactEvents } from "../events/redactions.ts";
import type { EventRow } from "../events/table.ts";
import { actionRuns, runLogs } from "../runs/table.ts";
import { addressLabel, type UserErasureRow, userErasures } from "./table.ts";

/** Number of rows read per step. */
const PAGE_EVENTS = 2_000;
/** Number of rows changed per transaction. */
const BATCH = 250;

/** Owner of the private runs of an erased user. */
const ERASED = "erased";

/** Events about a user's own data: only the IDs are kept. */
const OWN: readonly string[] = [
  "user",
  "session",
  "access_token",
  "authorization_code",
  "device_code",
  "chat_thread",
];

/** Fields of an actor that say more than the ID. */
const PERSONAL = sql.raw("'$.email', '$.ip', '$.userAgent'");

/**
 * Erases what audit logs and runs say about a user beyond the ID, in small steps, each of which can be repeated. The
 * address is searched for once. IDs are searched for again when the sweeper returns.
 */
export async function* eraseTraces(app: App, erasure: UserErasureRow): AsyncGenerator<void> {
  const { userId, sealedAddress } = erasure;
  const address = sealedAddress === null ? null : app.secrets.open(sealedAddress, addressLabel(erasure));
  yield* redactTrails(app, { ...erasure, address });
  yield* eraseRuns(app, userId);
  yield* eraseAutomationRuns(app, userId);
  yield* eraseCallers(app, userId);
  await app.store.write(
    async (db) =>
      void (await db
        .update(userErasures)
        .set({ sealedAddress: null })
        .where(eq(userErasures.userId, userId))),
  );
}

interface Search extends UserErasureRow {
  address: string | null;
}

interface Found {
  seq: number;
  organizationId: string;
  entityType: string;
  entityId: string;
  isByThem: number;
}

async function* redactTrails(app: App, { userId, address, begunAt }: Search): AsyncGenerator<void> {
  const { store, secrets } = app;
  const [end] = await store.db.all<{ seq: number }>(sql`select coalesce(max(seq), 0) as "seq" from events`);
  const needle = address === null ? null : JSON.stringify(address).slice(1, -1);
  const isNamed =
    needle === null
      ? sql`false`
      : sql`timestamp <= ${begunAt} and (instr(lower(data), ${needle}) > 0 or instr(lower(actor), ${needle}) > 0)`;
  const isByThem = sql`actor_type = 'user' and actor_id = ${userId}`;
  const hide = address === null ? null : addressPattern(address);
  for (let after = 0; after < (end?.seq ?? 0); after += PAGE_EVENTS) {
    const found = await store.db.all<Found>(
      sql`select seq as "seq", organization_id as "organizationId", entity_type as "entityType",
          entity_id as "entityId", ${isByThem} as "isByThem"
        from events where seq > ${after} and seq <= ${after + PAGE_EVENTS} and (${isByThem} or entity_id = ${userId} or ${isNamed})`,
    );
    const own = found.filter((event) => event.isByThem && OWN.includes(event.entityType));
    const theirs = new Set(own.map(({ entityId }) => entityId));
    const seqs = [...new Set([...found.map(({ seq }) => seq), ...(await aboutThose(app, own))])];
    for (let start = 0; start < seqs.length; start += BATCH) {
      const at = timestamp(app.clock);
      const redact = (row: EventRow) => redacted(row, { userId, theirs, hide });
      await write(app, (db) => redactEvents(db, secrets, seqs.slice(start, start + BATCH), { at, redact }));
      yield;
    }
    await new Promise((resolve) => setImmediate(resolve));
    yield;
  }
}

/** Returns positions of all events about the same resources, by any actor. */
async function aboutThose(app: App, own: readonly Found[]): Promise<number[]> {
  const positions: number[] = [];
  for (const organizationId of new Set(own.map((event) => event.organizationId))) {
    const here = own.filter((event) => event.organizationId === organizationId);
    const ids = JSON.stringify([...new Set(here.map(({ entityId }) => entityId))]);
    const rows = await app.store.db.all<{ seq: number }>(
      sql`select seq as "seq" from events indexed by events_by_entity
        where organization_id = ${organizationId} and entity_id in (select value from json_each(${ids}))`,
    );
    positions.push(...rows.map(({ seq }) => seq));
  }
  return positions;
}

/** Null if there is nothing to erase. */
function redacted(
  row: EventRow,
  { userId, theirs, hide }: { userId: string; theirs: ReadonlySet<string>; hide: RegExp | null },
) {
  const isByThem = row.actorType === "user" && row.actorId === userId;
  const isOwn = OWN.includes(row.entityType) && (row.entityId === userId || theirs.has(row.entityId));
  const actor = isByThem ? {} : withoutAddress(row.actor, hide);
  const data = isOwn ? {} : withoutAddress(row.data, hide);
  const isSame =
    canonicalJson(actor) === canonicalJson(row.actor) && canonicalJson(data) === canonicalJson(row.data);
  return isSame ? null : { actor, data };
}

const withoutAddress = (value: JsonObject, hide: RegExp | null): JsonObject =>
  hide === null ? value : (replaced(value, hide) as JsonObject);

function replaced(value: Json, hide: RegExp): Json {
  if (typeof value === "string") return value.replace(hide, "[erased]");
  if (Array.isArray(value)) return value.map((one) => replaced(one, hide));
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name.replace(hide, "[erased]"), replaced(one, hide)]),
  );
}

/** Matches the address as a whole, not the end of a longer one. */
const addressPattern = (address: string) =>
  new RegExp(`(?<![\\w.+%-])${RegExp.escape(address)}(?![\\w-]|\\.\\w)`, "giu");

/** Empties finished runs started by the user's private chats, with their logs, approvals and artifacts. */
async function* eraseRuns(app: App, userId: string): AsyncGenerator<void> {
  for (let after = ""; ; ) {
    const rows = await app.store.db.all<{ id: string; isTheirs: number }>(
      sql`select id as "id", (private_to = ${userId} or (trigger_method = 'agent' and created_by = ${userId})) and completed_at is not null
            and (definition <> '{}' or input is not null or result is not null or error is not null or concurrency_key is not null) as "isTheirs"
        from action_runs where id > ${after} order by id limit ${PAGE_EVENTS}`,
    );
    const ids = rows.filter(({ isTheirs }) => isTheirs).map(({ id }) => id);
    for (let start = 0; start < ids.length; start += BATCH) {
      const some = ids.slice(start, start + BATCH);
      const paths = await write(app, async (db) => {
        await db.delete(runLogs).where(inArray(runLogs.runId, some));
        await db.delete(decisions).where(inArray(decisions.subjectId, some));
        const gone = await db
          .delete(artifacts)
          .where(inArray(artifacts.actionRunId, some))
          .returning({ path: artifacts.path });
        await db
          .update(actionRuns)
          .set({
            definition: {},
            input: null,
            result: null,
            error: null,
            progress: null,
            concurrencyKey: null,
          })
          .where(inArray(actionRuns.id, some));
        return gone.flatMap(({ path }) => path ?? []);
      });
      await Promise.all(paths.map((path) => app.artifacts.remove(path)));
      yield;
    }
    after = rows.at(-1)?.id ?? "";
    if (rows.length < PAGE_EVENTS) return;
    yield;
  }
}

/** Empties finished automation runs started by the user's private chats. */
async function* eraseAutomationRuns(app: App, userId: string): AsyncGenerator<void> {
  for (;;) {
    const rows = await app.store.db
      .select({ id: automationRuns.id })
      .from(automationRuns)
      .where(and(eq(automationRuns.privateTo, userId), isNotNull(automationRuns.completedAt)))
      .limit(BATCH);
    const ids = rows.map(({ id }) => id);
    if (ids.length === 0) return;
    await write(app, async (db) => {
      await db.delete(automationRunItems).where(inArray(automationRunItems.automationRunId, ids));
      await db.delete(automationRunResults).where(inArray(automationRunResults.automationRunId, ids));
      await db.delete(automationRunConfigs).where(inArray(automationRunConfigs.automationRunId, ids));
      await db
        .update(automationRuns)
        .set({ input: null, scope: {}, result: null, error: null, steps: [], privateTo: ERASED })
        .where(inArray(automationRuns.id, ids));
    });
    yield;
  }
}

/** Reduces the user on whose behalf runs ran, or who cancelled them, to the ID. */
async function* eraseCallers(app: App, userId: string): AsyncGenerator<void> {
  for (const [table, column, path] of [
    ["action_runs", "actor", "$"],
    ["action_runs", "cancel_request", "$.actor"],
    ["automation_runs", "actor", "$"],
  ] as const) {
    const [name, field] = [sql.identifier(table), sql.identifier(column)];
    const personal = path === "$" ? PERSONAL : sql.raw("'$.actor.email', '$.actor.ip', '$.actor.userAgent'");
    for (let after = ""; ; ) {
      const rows = await app.store.db.all<{ id: string; isTheirs: number }>(
        sql`select id as "id", json_extract(${field}, ${`${path}.id`}) = ${userId} and
              json_remove(${field}, ${personal}) <> ${field} as "isTheirs"
          from ${name} where id > ${after} order by id limit ${PAGE_EVENTS}`,
      );
      const ids = JSON.stringify(rows.filter(({ isTheirs }) => isTheirs).map(({ id }) => id));
      if (ids !== "[]") {
        await write(app, (db) =>
          db.run(
            sql`update ${name} set ${field} = json_remove(${field}, ${personal})
              where id in (select value from json_each(${ids}))`,
          ),
        );
      }
      after = rows.at(-1)?.id ?? "";
      if (rows.length < PAGE_EVENTS) break;
      yield;
    }
  }
}

/** Runs a transaction that removes what it overwrites from the database file. */
const write = <T>(app: App, work: Parameters<typeof app.store.write<T>>[0]): Promise<T> =>
  app.store.write(async (db, group) => {
    if (!app.store.remote) await db.run(sql`pragma secure_delete = on`);
    const done = await work(db, group);
    if (!app.store.remote) await db.run(sql`pragma secure_delete = off`);
    return done;
  });

import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { asc, desc, gt } from "drizzle-orm";
import { EVENT_TYPES, events } from "../../src/resources/events/table.ts";
import { operations } from "../../src/server.ts";
import { calls, says, startModel } from "../peers/model.ts";
import { type Answer, startApp } from "../support/app.ts";
import {
  AUDITED,
  type Call,
  clientRequest,
  makeWorld,
  SECRETS,
  SLACK_SECRET,
  type Started,
  session,
  type World,
  waitingDevice,
} from "./audit-table.ts";

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const mutating = operations.filter(({ method }) => method !== "GET");
const nameOf = ({ method, path }: { method: string; path: string }) => `${method} ${path}`;

const eventsSince = ({ app }: Started, seq: number) =>
  app.store.db.select().from(events).where(gt(events.seq, seq)).orderBy(asc(events.seq));

async function lastSeq({ app }: Started): Promise<number> {
  const [last] = await app.store.db
    .select({ seq: events.seq })
    .from(events)
    .orderBy(desc(events.seq))
    .limit(1);
  return last?.seq ?? 0;
}

/** When a credential was last used is recorded on the side, whatever it was used for. */
const isUse = (table: string, column: string) =>
  ["last_used_at", "last_active_at"].includes(column) || (table === "sessions" && column === "expires_at");

/** Everything in the store, as text, by table. */
function contentOf({ dataFolder }: Started): Record<string, string> {
  const file = new Database(join(dataFolder, "weir.db"), { readonly: true });
  try {
    const columns = file
      .query(
        `SELECT t.name AS "table", c.name AS "column" FROM sqlite_master t, pragma_table_info(t.name) c
         WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%'`,
      )
      .all() as { table: string; column: string }[];
    const kept = columns.filter(({ table, column }) => !isUse(table, column));
    return Object.fromEntries(
      [...Map.groupBy(kept, ({ table }) => table)].map(([table, of]) => {
        const list = of.map(({ column }) => `"${column}"`).join();
        return [table, JSON.stringify(file.query(`SELECT ${list} FROM "${table}"`).values())];
      }),
    );
  } finally {
    file.close();
  }
}

/** Runs `work` while no event can be stored. */
async function withoutEvents<T>({ dataFolder }: Started, work: () => Promise<T>): Promise<T> {
  const file = new Database(join(dataFolder, "weir.db"));
  file.run("PRAGMA busy_timeout = 2000");
  file.run("CREATE TRIGGER no_events BEFORE INSERT ON events BEGIN SELECT RAISE(ABORT, 'no events'); END");
  try {
    return await work();
  } finally {
    file.run("DROP TRIGGER no_events");
    file.close();
  }
}

let world: World;
let model: Awaited<ReturnType<typeof startModel>>;
beforeAll(async () => {
  // It calls the tools that it has, otherwise it answers.
  model = await startModel(({ body }) => {
    const [tool] = body.tools ?? [];
    return tool ? calls(tool.function.name, {}) : says("Yes.");
  });
  const weir = await startApp({
    env: { ...model.env, WEIR_SLACK_SIGNING_SECRET: SLACK_SECRET },
    overrides: { mailer: { send: async () => ({ messageId: "", accepted: [], rejected: [] }) } },
  });
  const fresh = await startApp({ owner: false, engine: false });
  world = await makeWorld(weir, fresh);
}, 120_000);
afterAll(async () => {
  await world.fresh[Symbol.asyncDispose]();
  await world.weir[Symbol.asyncDispose]();
  await model[Symbol.asyncDispose]();
});

test("every operation that may change something declares its events, and no others", () => {
  const unsaid = mutating.map(nameOf).filter((name) => AUDITED[name] === undefined);
  expect(unsaid, `Tell in test/rules/audit-table.ts which events these make: ${unsaid.join(", ")}`).toEqual(
    [],
  );
  const known = new Set(mutating.map(nameOf));
  expect(Object.keys(AUDITED).filter((name) => !known.has(name))).toEqual([]);
  for (const [name, { events, why }] of Object.entries(AUDITED))
    expect([name, events.length > 0 || why !== undefined]).toEqual([name, true]);
});

/** The entity that the first event should name. */
function aboutOf(answer: Answer, { path }: Call): string | null {
  const inPath = path.match(UUID)?.at(-1);
  return answer.body?.id ?? inPath ?? null;
}

describe("the audit log of", () => {
  for (const operation of mutating) {
    const expected = AUDITED[nameOf(operation)];
    if (!expected) continue; // Reported by the test above.
    test(nameOf(operation), async () => {
      if (operation.limited === "address") world.weir.clock.turn(60_000);
      const call = await expected.call(world);
      const { weir = world.weir, by = weir.owner, path, body, headers = {} } = call;
      const correlationId = `audited-${Bun.randomUUIDv7()}`;
      const send = (more: Record<string, string> = {}) =>
        by(operation.method, path, body, {
          "x-correlation-id": correlationId,
          "user-agent": "audit-test/1.0",
          ...headers,
          ...more,
        });

      if (expected.events.length > 0) {
        const before = contentOf(weir);
        const refused = await withoutEvents(weir, () => send());
        expect([nameOf(operation), refused.status >= 500]).toEqual([nameOf(operation), true]);
        expect(contentOf(weir)).toEqual(before); // What can't be recorded doesn't happen.
      }

      const start = await lastSeq(weir);
      const key: Record<string, string> = operation.idempotent ? { "idempotency-key": correlationId } : {};
      const answer = await send(key);
      expect([answer.status < 400, answer.status < 400 ? "" : answer.text]).toEqual([true, ""]);
      const found = await eventsSince(weir, start);
      const actor = call.actor ?? { type: "user", id: weir.ids.userId };
      const shown = found.map(
        ({ type, entityType, actorType }) =>
          `${type} ${entityType}${actorType === actor.type ? "" : ` by ${actorType}`}`,
      );
      expect(shown).toEqual([...expected.events]);

      for (const event of found) {
        if (!expected.goesOn || event.actorType === actor.type)
          expect(event.data.requestCorrelationId ?? event.correlationId).toBe(correlationId);
        const isAbroad =
          event.type === "organization.created" ||
          /\/(organizations|organizations\/current|sync\/run)$|\/installation\//.test(path);
        if (weir === world.weir && !isAbroad) expect(event.organizationId).toBe(weir.ids.organizationId);
        expect(event.entityId).not.toBe("");
        if (event.actorType === "user") {
          if (actor.id !== null) expect(event.actorId).toBe(actor.id);
          const shown = {
            email: expect.stringMatching(/^(ada|eve|mary|carol|dora|erna)@example\.com$/),
            ip: "127.0.0.1",
            userAgent: "audit-test/1.0",
          };
          expect(event.actor).toEqual(call.isErased ? {} : shown);
        } else if (event.actorType === "system") {
          const { ip: _, ...own } = event.actor; // From an unknown sender, if one started it.
          expect(own).toEqual({ process: "weir", version: expect.any(String) });
        } else if (event.actorType === "api") {
          expect([event.actorId, event.actor]).toEqual([String(actor.id), { ip: "127.0.0.1" }]);
        } else {
          expect(event.actorId).toBe(String(found[0]?.entityId)); // The automation that was triggered.
        }
        if (event.type.endsWith(".updated")) checkChanges(event.data.changes);
        const text = JSON.stringify([event.data, event.actor]);
        for (const secret of SECRETS) expect(text).not.toContain(secret);
      }
      const about = (expected.about ?? aboutOf)(answer, call);
      if (about !== null && found[0]) expect(found[0].entityId).toBe(about);

      // Repeated: nothing is changed, or the first response is returned again.
      if (!operation.idempotent && !["PATCH", "PUT"].includes(operation.method)) return;
      if (operation.consumes !== undefined) return; // A file is new each time, whatever it contains.
      const end = await lastSeq(weir);
      const again = await send(key);
      expect([again.status, again.body?.updatedAt]).toEqual([answer.status, answer.body?.updatedAt]);
      expect((await eventsSince(weir, end)).map(({ type }) => type)).toEqual([]);
    });
  }
});

test("what an API key does is recorded with its ID and address", async () => {
  const { weir } = world;
  const made = await weir.owner("POST", "/api/v1/api-keys", { name: "machine" });
  const start = await lastSeq(weir);
  const body = { name: "Made by a machine", kind: "conditional_branch" };
  const answer = await weir.anonymous("POST", "/api/v1/actions", body, { "x-api-key": made.body.key });
  expect(answer.status).toBe(201);
  const [event, ...more] = await eventsSince(weir, start);
  expect(more).toEqual([]);
  expect(event).toMatchObject({
    type: "action.created",
    entityId: answer.body.id,
    actorType: "api",
    actorId: made.body.id,
    organizationId: weir.ids.organizationId,
  });
  expect(event?.actor).toEqual({ ip: "127.0.0.1" });
});

/** Checks the changes in `*.updated` events (docs/decisions/audit.md). */
function checkChanges(changes: unknown): void {
  expect(Array.isArray(changes) && changes.length > 0).toBe(true);
  for (const change of changes as object[]) expect(Object.keys(change)).toEqual(["field", "from", "to"]);
}

/** Each event type, with the actors that cause it. An API key may do what a user does. */
const INTERFACE: Readonly<Record<string, readonly string[]>> = {
  "connection.created": ["user"],
  "connection.updated": ["user"],
  "connection.deleted": ["user"],
  "connection.tested": ["user", "system"],
  "connection.error": ["system"],
  "connection.token_refreshed": ["system"],
  "action.created": ["user"],
  "action.started": ["user", "automation"],
  "action.progress": ["system"],
  "action.completed": ["system"],
  "action.failed": ["system"],
  "action.cancelled": ["user"],
  "automation.created": ["user"],
  "automation.triggered": ["user", "system", "api"],
  "automation.completed": ["system"],
  "automation.failed": ["system"],
  "automation.enabled": ["user"],
  "automation.disabled": ["user"],
  "auth.login": ["user"],
  "auth.logout": ["user"],
  "auth.token_created": ["user"],
  "auth.token_revoked": ["user"],
  "auth.permission_granted": ["user"],
  "auth.permission_revoked": ["user"],
};

/** Event types caused by time instead of a call. Each has its own test. */
const SEEN_ELSEWHERE = new Set([
  "backup.failed",
  "dashboard.sent",
  "dashboard.send_failed",
  "connection.signed_in",
  "connection.token_refreshed",
  "organization.exported",
  "catalog.signed_in",
  "catalog.sign_in_needed",
  "catalog.token_refreshed",
  "decision.expired",
  "automation.schedule_missed",
  "automation.stale",
  "auth.chat_linked",
  "auth.chat_unlinked",
  "auth.login_failed",
  "chat_turn.tool_called",
  "chat_turn.failed",
]);

test("every row of the interface's event table exists, with its actors", async () => {
  const { weir, fresh } = world;
  const { body: hook } = await weir.owner("GET", `/api/v1/automations/${world.hookId}`);
  const { user_code: userCode } = await waitingDevice(world);
  const { person } = await session(world);
  await person.call("POST", "/api/v1/auth/device/approve", { userCode, approve: false });
  const request = await clientRequest(world);
  await person.call("POST", "/api/v1/auth/clients/decide", { request, approve: false });
  for (const status of ["disabled", "active"])
    expect((await weir.owner("PATCH", `/api/v1/automations/${hook.id}`, { status })).status).toBe(200);
  const found = new Map<string, Set<string>>();
  for (const { type, actorType } of [...(await eventsSince(weir, 0)), ...(await eventsSince(fresh, 0))]) {
    found.set(type, (found.get(type) ?? new Set()).add(actorType));
  }
  for (const [type, actors] of Object.entries(INTERFACE)) {
    if (SEEN_ELSEWHERE.has(type)) continue;
    const by = [...(found.get(type) ?? [])];
    expect([type, by.length > 0]).toEqual([type, true]);
    expect([type, by.filter((actor) => !actors.includes(actor === "api" ? "user" : actor))]).toEqual([
      type,
      [],
    ]);
  }
  const isSubscribable = operations.some(({ path }) => path === "/api/v1/webhooks");
  const unseen = EVENT_TYPES.filter(
    (type) =>
      !found.has(type) && !SEEN_ELSEWHERE.has(type) && (isSubscribable || !type.startsWith("webhook.")),
  );
  expect(unseen).toEqual([]);
  const tests = join(import.meta.dir, "..");
  const texts = await Promise.all(
    [...new Bun.Glob("{engine,executors,resources,providers}/**/*.test.ts").scanSync(tests)].map((path) =>
      Bun.file(join(tests, path)).text(),
    ),
  );
  for (const type of SEEN_ELSEWHERE)
    expect([type, texts.some((text) => text.includes(`"${type}"`))]).toEqual([type, true]);
});

/** An export of everything is recorded. */
const TOLD_OF = ["/api/v1/organizations/current/export"];

test("reading leaves nothing in the audit log", async () => {
  const { weir } = world;
  const start = await lastSeq(weir);
  for (const { method, path, produces } of operations) {
    if (method !== "GET" || produces === "text/event-stream" || TOLD_OF.includes(path)) continue;
    const given = path
      .replace("/{layer}/{dataset}", "/raw/audited_state")
      .replace(/\{(\w+)\}/g, (_, name: string) => idOf(name));
    const { status } = await weir.owner("GET", given);
    expect([path, status === 500]).toEqual([path, false]);
  }
  expect((await eventsSince(weir, start)).map(({ type }) => type)).toEqual([]);
});

const idOf = (name: string) =>
  ({ automation_id: world.hookId, run_id: world.endedRunId, dead_letter_id: world.letters[0] })[name] ??
  world.weir.ids.organizationId;

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createServer } from "node:net";
import { systemClock } from "../../src/base/clock.ts";
import { startApp } from "../support/app.ts";
import { isStored } from "../support/beside.ts";
import { CONNECTIONS, connect, localFiles, trailOf } from "../support/connections.ts";
import { freePort, startPostgres, type TestPostgres } from "../support/postgres.ts";
import { s3Keys, startS3, type TestS3 } from "../support/s3.ts";

let postgres: TestPostgres;
let store: TestS3;

beforeAll(async () => {
  [postgres, store] = await Promise.all([startPostgres(), startS3()]);
  store.createBucket("shop-data");
  await store.put("shop-data", "in/orders.csv", "id\n1\n");
  await postgres.sql`create table orders (id bigint primary key, "Total" numeric(10, 2), note text not null)`;
  await postgres.sql`create view recent as select id from orders`;
});
afterAll(async () => {
  await postgres[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});

const database = (more: object = {}, credentials: object = {}) => ({
  name: "Shop database",
  provider: "postgres",
  config: { host: postgres.host, port: postgres.port, database: postgres.database, ...more },
  credentials: { user: postgres.user, password: postgres.password, ...credentials },
});
const bucket = (more: object = {}, credentials: object = {}) => ({
  name: "Shop bucket",
  provider: "s3",
  config: { bucket: "shop-data", endpointUrl: store.endpointUrl, ...more },
  credentials: { ...s3Keys, ...credentials },
});

/** A server that accepts connections and sends nothing. `reached` resolves once there are this many. */
async function silentServer(wanted = 1) {
  const reached = Promise.withResolvers<void>();
  let count = 0;
  const server = createServer(() => {
    if (++count === wanted) reached.resolve();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return {
    port: typeof address === "object" && address ? address.port : 0,
    reached: reached.promise,
    [Symbol.dispose]: () => void server.close(),
  };
}

describe("verifying", () => {
  test("makes a connection active that its system accepts", async () => {
    await using started = await startApp({ engine: false });
    for (const body of [database(), bucket(), localFiles("Files", { config: { root: "/a/b" } })]) {
      const made = await connect(started.owner, body);
      const verified = await started.owner("POST", `${CONNECTIONS}/${made.id}/verify`);
      expect(verified.body).toMatchObject({
        status: "active",
        verificationError: null,
        updatedBy: started.ids.userId,
      });
      expect(verified.body.lastVerifiedAt >= made.createdAt).toBe(true);
      expect((await started.owner("GET", `${CONNECTIONS}/${made.id}`)).body).toEqual(verified.body);
      const event = (await trailOf(started, made.id)).at(-1);
      expect(event).toMatchObject({
        type: "connection.tested",
        data: { status: "active", provider: made.provider },
      });
    }
  });

  test("stores the reason if its system rejects it", async () => {
    await using started = await startApp({ engine: false });
    const closed = await freePort();
    for (const [body, sentence] of [
      [database({}, { password: "wrong-canary" }), /rejected the password/],
      [database({ database: "nope" }), /no database "nope"/],
      [database({ port: closed }), new RegExp(String(closed))],
      [database({ host: "nobody.invalid" }), /nobody\.invalid/],
      [bucket({ bucket: "absent-bucket" }), /no bucket absent-bucket/],
      [bucket({}, { secretAccessKey: "wrong-canary" }), /secretAccessKey doesn't belong/],
      [bucket({}, { accessKeyId: "AKIDWRONG" }), /doesn't know this accessKeyId/],
      [bucket({ endpointUrl: `http://127.0.0.1:${closed}` }), new RegExp(String(closed))],
    ] as const) {
      const made = await connect(started.owner, body);
      const refused = await started.owner("POST", `${CONNECTIONS}/${made.id}/verify`);
      expect(refused.status).toBe(200);
      expect(refused.body).toMatchObject({ status: "error", lastVerifiedAt: null });
      expect(refused.body.verificationError).toMatch(sentence);
      expect(refused.text).not.toContain("canary");
      expect((await trailOf(started, made.id)).slice(-2)).toMatchObject([
        { type: "connection.tested", data: { status: "error" } },
        {
          type: "connection.error",
          actorType: "system",
          data: { status: "error", message: refused.body.verificationError },
        },
      ]);
    }
  });

  test("keeps when it last succeeded if its system rejects it later", async () => {
    await using started = await startApp({ engine: false });
    const made = await connect(started.owner, database());
    const at = `${CONNECTIONS}/${made.id}`;
    const { lastVerifiedAt } = (await started.owner("POST", `${at}/verify`)).body;
    expect(lastVerifiedAt).toEqual(expect.any(String));
    await started.owner("PATCH", at, { credentials: { password: "wrong-canary" } });
    const refused = (await started.owner("POST", `${at}/verify`)).body;
    expect(refused).toMatchObject({ status: "error", lastVerifiedAt });
    expect((await started.owner("GET", at)).body).toEqual(refused);
  });

  test("doesn't access private addresses without permission", async () => {
    await using started = await startApp({ engine: false, env: { WEIR_EGRESS_ALLOW: "" } });
    for (const body of [
      database(),
      bucket(),
      database({ host: "localhost" }),
      database({ baseUrl: "169.254.169.254:80" }),
    ]) {
      const made = await connect(started.owner, body);
      const refused = await started.owner("POST", `${CONNECTIONS}/${made.id}/verify`);
      expect([refused.status, refused.body.status]).toEqual([200, "error"]);
      expect(refused.body.verificationError).toContain("WEIR_EGRESS_ALLOW");
      const place = made.provider === "s3" ? "files" : "schema/tables";
      const browsed = await started.owner("GET", `${CONNECTIONS}/${made.id}/${place}`);
      expect([browsed.status, browsed.body.code]).toEqual([422, "egress_blocked"]);
    }
  });

  test("gives up on a system that doesn't respond within 15 seconds", async () => {
    using server = await silentServer();
    const asked: number[] = [];
    const clock = {
      ...systemClock,
      limit: (ms: number, signal?: AbortSignal) => {
        asked.push(ms);
        return ms === 15_000 || ms === 30_000 ? server.reached : systemClock.limit(ms, signal);
      },
    };
    await using started = await startApp({ engine: false, overrides: { clock } });
    const made = await connect(started.owner, database({ port: server.port }));
    const late = await started.owner("POST", `${CONNECTIONS}/${made.id}/verify`);
    expect([late.body.status, late.body.verificationError]).toEqual([
      "error",
      "Shop database didn't respond within 15 seconds.",
    ]);
    const tables = await started.owner("GET", `${CONNECTIONS}/${made.id}/schema/tables`);
    expect([tables.status, tables.body.code]).toEqual([504, "timeout"]);
    expect(asked).toContain(15_000);
  });

  test("marks nothing that was changed, disabled or deleted in the meantime", async () => {
    using server = await silentServer(4);
    const given = Promise.withResolvers<void>();
    const clock = {
      ...systemClock,
      limit: (ms: number, signal?: AbortSignal) =>
        ms === 15_000 ? given.promise : systemClock.limit(ms, signal),
    };
    await using started = await startApp({ engine: false, overrides: { clock } });
    const made = [];
    for (const name of ["changed", "disabled", "deleted", "renamed"]) {
      made.push(await connect(started.owner, { ...database({ port: server.port }), name }));
    }
    const [changed, disabled, deleted, renamed] = made.map(({ id }) => `${CONNECTIONS}/${id}`) as [
      string,
      string,
      string,
      string,
    ];
    const verifying = [changed, disabled, deleted, renamed].map((at) =>
      started.owner("POST", `${at}/verify`),
    );
    await server.reached;
    await started.owner("PATCH", changed, { credentials: { password: "another" } });
    await started.owner("POST", `${disabled}/disable`);
    await started.owner("DELETE", deleted);
    await started.owner("PATCH", renamed, { name: "new name" });
    given.resolve();
    const outcomes = await Promise.all(verifying);
    expect(outcomes.map(({ status, body }) => [status, body.status ?? body.code])).toEqual([
      [200, "needs_verification"],
      [200, "disabled"],
      [404, "not_found"],
      [200, "error"],
    ]);
    expect(outcomes[3]?.body.name).toBe("new name");
    const trail = await trailOf(started, made[0]?.id);
    expect(trail.map(({ type }) => type)).toEqual(["connection.created", "connection.updated"]);
  });

  test("is required again after a change of config or credentials", async () => {
    await using started = await startApp({ engine: false });
    const made = await connect(started.owner, database({}, { password: "wrong" }));
    const at = `${CONNECTIONS}/${made.id}`;
    expect((await started.owner("POST", `${at}/verify`)).body.status).toBe("error");
    const given = await started.owner("PATCH", at, { credentials: { password: postgres.password } });
    expect(given.body).toMatchObject({
      status: "needs_verification",
      verificationError: null,
      hasCredentials: true,
    });
    expect((await started.owner("POST", `${at}/verify`)).body.status).toBe("active");
    const changed = await started.owner("PATCH", at, {
      config: { sslMode: "disable" },
      credentials: { user: postgres.user, password: postgres.password },
    });
    expect(changed.body.status).toBe("needs_verification");
    expect((await trailOf(started, made.id)).at(-1)?.data.changes).toContainEqual({
      field: "status",
      from: "active",
      to: "needs_verification",
    });
  });
});

describe("the schema of a database", () => {
  test("lists tables, and a table's columns in order", async () => {
    await using started = await startApp({ engine: false });
    const { id } = await connect(started.owner, database());
    const get = (rest: string) => started.owner("GET", `${CONNECTIONS}/${id}/schema/${rest}`);
    expect((await get("tables")).body).toEqual({
      tables: [
        { schema: "public", table: "orders", spec: "public.orders" },
        { schema: "public", table: "recent", spec: "public.recent" },
      ],
    });
    const all = (await get("tables?include_system=true")).body.tables;
    expect(all).toContainEqual({ schema: "pg_catalog", table: "pg_class", spec: "pg_catalog.pg_class" });
    expect((await get("columns?schema=public&table=orders")).body).toEqual({
      schema: "public",
      table: "orders",
      columns: [
        { name: "id", dataType: "bigint", nullable: false },
        { name: "Total", dataType: "numeric(10,2)", nullable: true },
        { name: "note", dataType: "text", nullable: false },
      ],
    });
    const absent = await get("columns?schema=public&table=nope");
    expect([absent.status, absent.body.code]).toEqual([404, "not_found"]);
    expect((await get("columns?schema=public")).status).toBe(422);
    expect((await get("tables?include_system=maybe")).status).toBe(422);
  });

  test("reports what its system lacks, and nothing for a disabled one", async () => {
    await using started = await startApp({ engine: false });
    const base = await connect(started.owner, database({}, { password: "wrong-canary" }));
    const files = await connect(started.owner, localFiles("Files"));
    const told = async (id: string, rest: string) => {
      const { status, body, text } = await started.owner("GET", `${CONNECTIONS}/${id}/${rest}`);
      expect(text).not.toContain("canary");
      return [status, body.code, body.detail];
    };
    expect(await told(base.id, "files")).toEqual([
      400,
      "bad_request",
      "PostgreSQL connections have no files.",
    ]);
    expect(await told(files.id, "schema/tables")).toEqual([
      400,
      "bad_request",
      "Local files connections have no tables. An extract names files in its spec, such as *.csv.",
    ]);
    expect((await told(base.id, "schema/tables")).slice(0, 2)).toEqual([502, "upstream"]);
    await started.owner("POST", `${CONNECTIONS}/${base.id}/disable`);
    expect((await told(base.id, "schema/tables")).slice(0, 2)).toEqual([409, "connection_disabled"]);
  });
});

test("a bucket is browsed, and uploaded to", async () => {
  await using started = await startApp({ engine: false });
  const { id } = await connect(started.owner, bucket({ prefix: "in" }));
  const put = await started.owner("PUT", `${CONNECTIONS}/${id}/files?path=/2026/new.json`, "{}");
  expect([put.status, put.body]).toMatchObject([201, { id: "/2026/new.json", kind: "file", size: 2 }]);
  const { body } = await started.owner("GET", `${CONNECTIONS}/${id}/files`);
  expect(body.items.map((item: { id: string; kind: string }) => [item.id, item.kind])).toEqual([
    ["/2026", "folder"],
    ["/orders.csv", "file"],
  ]);
  const checked = await started.owner("POST", `${CONNECTIONS}/${id}/files/validate`, {
    selectedItems: body.items,
  });
  expect(checked.body).toEqual({ valid: true, maxDepth: 2, totalBytes: 7, totalItems: 3, violations: [] });
});

test("credentials appear in no response, no log line and nowhere in the database", async () => {
  await using started = await startApp({ engine: false });
  const canary = "canary-9f8e7d6c5b4a";
  const replies: string[] = [];
  const say = async (method: string, at: string, body?: unknown) => {
    const answer = await started.owner(method, at, body);
    replies.push(answer.text, JSON.stringify([...answer.headers]));
    return answer.body;
  };
  for (const body of [
    database({}, { user: `user-${canary}`, password: `password-${canary}` }),
    bucket(
      {},
      {
        accessKeyId: `key-${canary}`,
        secretAccessKey: `secret-${canary}`,
        sessionToken: `session-${canary}`,
      },
    ),
  ]) {
    const { id } = await say("POST", CONNECTIONS, body);
    for (const verb of ["verify", "set-default", "disable", "reactivate"])
      await say("POST", `${CONNECTIONS}/${id}/${verb}`);
    await say("GET", `${CONNECTIONS}/${id}`);
    await say("GET", `${CONNECTIONS}/${id}/files`);
    await say("GET", `${CONNECTIONS}/${id}/schema/tables`);
    const [last] = Object.keys(body.credentials).slice(-1);
    await say("PATCH", `${CONNECTIONS}/${id}`, { credentials: { [last ?? ""]: `changed-${canary}` } });
    await say("PATCH", `${CONNECTIONS}/${id}`, {
      config: { [body.provider === "s3" ? "bucket" : "host"]: "elsewhere" },
    });
    await say("PATCH", `${CONNECTIONS}/${id}`, { credentials: { nope: `unknown-${canary}` } });
    await say("POST", CONNECTIONS, { ...body, provider: "nope" });
    await say("POST", CONNECTIONS, { ...body, config: {} });
  }
  await say("GET", CONNECTIONS);
  await say("GET", `${CONNECTIONS}?q=${canary}`);
  expect(replies.join("\n")).not.toContain(canary);
  expect(started.logged.join("\n")).not.toContain(canary);
  expect(await isStored(started, canary)).toBe(false);
});

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eq } from "drizzle-orm";
import { contextFor } from "../../src/context.ts";
import { automations } from "../../src/resources/automations/table.ts";
import { slackReplies, targetLabel } from "../../src/resources/slack/table.ts";
import { processes } from "../../src/store/processes.ts";
import { client, PASSWORD, type StartOptions, startApp } from "../support/app.ts";
import { CONNECTIONS, localFiles } from "../support/connections.ts";
import { faketimeLibrary, openFaketime } from "../support/faketime.ts";
import { loadTable } from "../support/lake.ts";
import { startReceiver } from "../support/receiver.ts";
import { refusalOf } from "../support/refusal.ts";
import { s3Keys, startS3, type TestS3 } from "../support/s3.ts";
import { deepTest } from "../support/scale.ts";
import { KEY, startSeveral } from "../support/several.ts";
import { type Sqld, startSqld } from "../support/sqld.ts";
import { isOnPostgres } from "../support/test-store.ts";
import {
  ACTIONS,
  AUTOMATIONS,
  branch,
  created,
  makeAction,
  makeAutomation,
  runToEnd,
  until,
} from "../support/work.ts";

type Started = Awaited<ReturnType<typeof startApp>>;

const settings = (database: Sqld) => ({ WEIR_DATABASE_URL: database.url, WEIR_SECRET_KEY: KEY });

/** The owner of the first process, at another one. */
const ownerAt = ({ origin }: Started, { token }: Started) =>
  client(origin, { authorization: `Bearer ${token}` });

const contextOf = ({ app }: Started, { ids }: Started) =>
  contextFor(app, {
    organizationId: ids.organizationId,
    role: "owner",
    actor: { type: "system", id: "test" },
    correlationId: "several-processes",
  });

/** Content that is stored in a file. */
const large = { text: "x".repeat(300_000) };

async function makeLarge({ owner }: Started) {
  const action = await makeAction(owner, { name: "For an artifact" });
  const run = await runToEnd(owner, action.id);
  return owner("POST", "/api/v1/artifacts", { actionRunId: run.id, kind: "json", content: large });
}

describe("two processes that share a database and a bucket", () => {
  let database: Sqld;
  let bucket: TestS3;
  let one: Started;
  let two: Started;
  let there: ReturnType<typeof client>;
  let env: Record<string, string>;
  beforeAll(async () => {
    database = await startSqld();
    bucket = await startS3();
    bucket.createBucket("lake");
    env = {
      ...settings(database),
      WEIR_LAKE_URL: "s3://lake/weir",
      WEIR_LAKE_ENDPOINT: bucket.endpointUrl,
      WEIR_LAKE_ACCESS_KEY_ID: s3Keys.accessKeyId,
      WEIR_LAKE_SECRET_ACCESS_KEY: s3Keys.secretAccessKey,
      WEIR_SLACK_SIGNING_SECRET: "a-signing-secret",
    };
    one = await startApp({ env });
    two = await startApp({ env, owner: false });
    there = ownerAt(two, one);
  });
  afterAll(async () => {
    await one[Symbol.asyncDispose]();
    await two[Symbol.asyncDispose]();
    await bucket[Symbol.asyncDispose]();
    await database[Symbol.asyncDispose]();
  });

  test("an event stream at one shows what happens at the other, and continues at the other after an interruption", async () => {
    const follow = async ({ origin }: Started, lastEventId?: string) => {
      const headers = {
        authorization: `Bearer ${one.token}`,
        ...(lastEventId ? { "last-event-id": lastEventId } : {}),
      };
      const reply = await fetch(`${origin}/api/v1/events/stream?type=action.created`, { headers });
      const reader = reply.body?.getReader();
      let text = "";
      return async (name: string) => {
        while (!text.includes(name)) text += new TextDecoder().decode((await reader?.read())?.value);
        await reader?.cancel();
        return text;
      };
    };
    const first = await follow(two);
    await makeAction(one.owner, { name: "Made at the first" });
    const id = /id: (\d+)/.exec(await first("Made at the first"))?.[1];
    await makeAction(one.owner, { name: "While nobody followed" });
    const text = await (await follow(one, id))("While nobody followed");
    expect(text).not.toContain("Made at the first");
  });

  test("a request with one Idempotency-Key sent to both at once is done once", async () => {
    const body = { kind: "conditional_branch", name: "Once", definition: branch() };
    const calls = Array.from({ length: 6 }, (_, n) =>
      (n % 2 === 0 ? one.owner : there)("POST", ACTIONS, body, { "idempotency-key": "at-both" }),
    );
    const answers = await Promise.all(calls);
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201, 201, 201]);
    expect(new Set(answers.map((answer) => answer.body.id)).size).toBe(1);
    expect((await there("GET", `${ACTIONS}?q=Once`)).body.total).toBe(1);
  });

  test("a user who signs in at one is signed in at the other, and signed out at both", async () => {
    const login = { email: "ada@example.com", password: PASSWORD };
    const { headers } = await one.anonymous("POST", "/api/v1/auth/login", login);
    const cookie = {
      cookie: headers.get("set-cookie")?.split(";")[0] ?? "",
      "sec-fetch-site": "same-origin",
    };
    const me = () => two.anonymous("GET", "/api/v1/users/me", undefined, cookie);
    expect((await me()).body.email).toBe("ada@example.com");
    expect((await one.anonymous("POST", "/api/v1/auth/logout", undefined, cookie)).status).toBe(204);
    expect((await me()).status).toBe(401);
  });

  deepTest("a dataset and a large artifact of one are read at the other, and deleted there", async () => {
    const select = "SELECT i AS id FROM range(10) t(i)";
    await loadTable(contextOf(one, one), { layer: "raw", dataset: "shop", table: "orders", select });
    const query = await there("POST", "/api/v1/query", { sql: "SELECT sum(id) AS s FROM raw.shop__orders" });
    expect(query.body.rows).toEqual([{ s: 45 }]);

    const { id, storageType } = created(await makeLarge(one));
    expect(storageType).toBe("file");
    expect((await there("GET", `/api/v1/artifacts/${id}/content`)).body).toEqual(large);
    const isKept = async () => Object.keys(await bucket.all("lake")).some((key) => key.includes(id));
    expect(await isKept()).toBe(true);
    expect((await there("DELETE", `/api/v1/artifacts/${id}`)).status).toBe(204);
    await until(there, ACTIONS, () => true);
    while (await isKept()) await Bun.sleep(10);
  });

  test("files of a folder that only one of them sees are rejected with a sentence", async () => {
    for (const call of [one.owner, there]) {
      const answer = await call("POST", CONNECTIONS, localFiles("Files"));
      expect([answer.status, answer.body.code]).toEqual([409, "invalid_state"]);
      expect(answer.body.detail).toContain("share one data directory");
    }
  });

  deepTest("an answer to Slack is sent by one of them", async () => {
    await using receiver = startReceiver();
    const { app } = one;
    const rows = Array.from({ length: 12 }, () => {
      const at = { id: app.ids.uuid(), organizationId: one.ids.organizationId };
      const target = JSON.stringify({ url: `${receiver.url}/${at.id}` });
      return {
        ...at,
        sealedTarget: app.secrets.seal(target, targetLabel(at)),
        runKind: null,
        runId: null,
        text: "Hello",
        attempts: 0,
        dueAt: app.clock.now().toISOString(),
        createdAt: app.clock.now().toISOString(),
      };
    });
    await app.store.write(async (db) => void (await db.insert(slackReplies).values(rows)));
    const left = () => app.store.db.$count(slackReplies);
    while ((await left()) > 0) await Bun.sleep(20);
    expect(receiver.got.map(({ path }) => path.slice(1)).sort()).toEqual(rows.map(({ id }) => id).sort());
  });

  test("one that joins doesn't count times as missed that the others were just slow with", async () => {
    const at = (secondsAgo: number) => new Date(Date.now() - secondsAgo * 1000).toISOString();
    const { app, owner } = one;
    const action = { kind: "conditional_branch", definition: branch() };
    await one.engine?.stop(0);
    await two.engine?.stop(0);
    const { id } = await makeAutomation(
      owner,
      { schedule: { cron: "* * * * *" }, action },
      { triggerType: "schedule" },
    );
    const due = at(20);
    await app.store.write(async (db) => {
      await db.update(processes).set({ startedAt: at(60), seenAt: at(0) });
      await db.update(automations).set({ nextRunAt: due }).where(eq(automations.id, id));
    });
    await using three = await startApp({ env, owner: false });
    const { runs } = await until(owner, `${AUTOMATIONS}/${id}/runs`, ({ total }) => total > 0);
    expect(runs.at(-1).input).toEqual({ scheduledAt: due }); // The minute may have ended since then.
    expect((await owner("GET", "/api/v1/events?type=automation.schedule_missed")).body.items).toEqual([]);
    expect(three.engine).not.toBeNull();
  });

  test("one with another key or another lake is rejected with a sentence", async () => {
    const refused = (env: Record<string, string>, more: Partial<StartOptions> = {}) =>
      startApp({ env: { ...settings(database), ...env }, owner: false, ...more }).then(
        () => "it started",
        (error: Error) => `${error.name}: ${error.message}`,
      );
    const other = Buffer.alloc(32, 8).toString("base64");
    expect(await refused({ WEIR_SECRET_KEY: other })).toStartWith(
      "ConfigError: The master key isn't the one",
    );
    const both = { WEIR_SECRET_KEY: other, WEIR_SECRET_KEY_PREVIOUS: KEY };
    expect(await refused(both)).toContain("All processes need the same WEIR_SECRET_KEY");
    expect(await refused({})).toContain("whose lake is in s3://lake/weir");
  });
});

describe("two processes that share only a database", () => {
  deepTest("reject datasets and large artifacts that the other can't see", async () => {
    await using database = await startSqld();
    await using one = await startApp({ env: settings(database) });
    const select = "SELECT 1 AS id";
    await loadTable(contextOf(one, one), { layer: "raw", dataset: "shop", table: "orders", select });
    const { id } = created(await makeLarge(one));
    await using two = await startApp({ env: settings(database), owner: false });
    const there = ownerAt(two, one);

    const query = await there("POST", "/api/v1/query", { sql: "SELECT * FROM raw.shop__orders" });
    const content = await there("GET", `/api/v1/artifacts/${id}/content`);
    expect([query.status, content.status]).toEqual([409, 409]);
    for (const { body } of [query, content])
      expect(body.detail).toContain("in the data directory of another process");
    const again = { layer: "raw", dataset: "shop", table: "orders", select };
    expect(await refusalOf(loadTable(contextOf(two, one), again))).toContain("Set WEIR_LAKE_URL");
  });
});

describe("two processes that share a database and a data directory", () => {
  deepTest("see the same files, datasets and artifacts, and each has its own scratch space", async () => {
    await using database = await startSqld();
    const dataFolder = mkdtempSync(join(tmpdir(), "weir-together-"));
    try {
      const env = settings(database);
      await using one = await startApp({ env, dataFolder });
      await using two = await startApp({ env, dataFolder, owner: false });
      const there = ownerAt(two, one);
      expect(two.app.scratchFolder).not.toBe(one.app.scratchFolder);

      const { id } = created(await one.owner("POST", CONNECTIONS, localFiles("Files")));
      const bytes = new TextEncoder().encode("a,b\n1,2\n");
      created(await one.owner("PUT", `${CONNECTIONS}/${id}/files?path=/x.csv`, bytes));
      const listed = await there("GET", `${CONNECTIONS}/${id}/files`);
      expect(JSON.stringify(listed.body)).toContain("x.csv");
      const select = "SELECT 1 AS id";
      await loadTable(contextOf(one, one), { layer: "raw", dataset: "shop", table: "orders", select });
      await loadTable(contextOf(two, one), { layer: "raw", dataset: "shop", table: "orders", select });
      const sql = "SELECT count(*) AS n FROM raw.shop__orders";
      expect((await there("POST", "/api/v1/query", { sql })).body.rows).toEqual([{ n: 2 }]);
      const made = created(await makeLarge(one));
      expect((await there("GET", `/api/v1/artifacts/${made.id}/content`)).body).toEqual(large);
    } finally {
      rmSync(dataFolder, { recursive: true, force: true });
    }
  });

  test("a server with its database in the directory doesn't share it", async () => {
    await using database = await startSqld();
    await using one = await startApp({ engine: false });
    const joined = startApp({ env: settings(database), dataFolder: one.dataFolder, owner: false });
    const place = isOnPostgres ? "database is at postgres://" : "database is in its file weir.db";
    expect(await refusalOf(joined)).toContain(place);
  });
});

test.skipIf(faketimeLibrary === null)(
  "processes whose clocks are off by a minute use the database's: nothing is early, late, or taken from another",
  async () => {
    using ahead = openFaketime(faketimeLibrary ?? "");
    using behind = openFaketime(faketimeLibrary ?? "");
    ahead.set(60);
    behind.set(-60);
    const open = Promise.withResolvers<void>();
    await using receiver = startReceiver(async () => {
      await open.promise;
      return Response.json({});
    });
    await using several = await startSeveral();
    const members = await Promise.all([several.join(), several.join(ahead.env), several.join(behind.env)]);
    const runs: [member: (typeof members)[number], id: string][] = [];
    for (const member of members) {
      const definition = { url: receiver.url, timeoutSeconds: 300 };
      const action = await makeAction(member.owner, { kind: "http_request", definition });
      expect(Math.abs(Date.parse(action.createdAt) - Date.now())).toBeLessThan(30_000);
      for (let n = 0; n < 4; n++)
        runs.push([member, created(await member.owner("POST", `${ACTIONS}/${action.id}/run`)).id]);
    }
    await until(members[0].owner, ACTIONS, () => receiver.got.length === runs.length);
    await Bun.sleep(5_500); // Each has checked for expired leases.
    open.resolve();
    for (const [{ owner }, id] of runs) {
      const run = await until(owner, `/api/v1/action-runs/${id}`, ({ status }) => status === "completed");
      expect([run.interruptCount, run.retryCount]).toEqual([0, 0]);
    }
    expect(receiver.got).toHaveLength(runs.length);
  },
  120_000,
);

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { contextFor, write } from "../../src/context.ts";
import { enqueueRun } from "../../src/queue/enqueue.ts";
import { chatMessages } from "../../src/resources/chat/table.ts";
import { deadLetters } from "../../src/resources/dead-letters/table.ts";
import { sealHead } from "../../src/resources/events/seals.ts";
import { notices } from "../../src/resources/notices/table.ts";
import { runLogs } from "../../src/resources/runs/table.ts";
import { operations } from "../../src/server.ts";
import { type Client, client, startApp } from "../support/app.ts";
import { connect, localFiles } from "../support/connections.ts";
import { makeHook, send } from "../support/hook.ts";
import { browser, join } from "../support/people.ts";
import { branch, created } from "../support/work.ts";

type Started = Awaited<ReturnType<typeof startApp>>;

interface CursorList {
  /** Creates at least three items of the list, and returns its path. */
  fill(world: World): Promise<string>;
  /** Query of the first page, in addition to its limit of 1. */
  first?: string;
  /** Another filter or order than that of the first page. Null for a list without any. */
  other: string | null;
}

interface World extends Started {
  /** The owner, with a token that outlasts the tests' clock. */
  lasting: Client;
  runId: string;
}

const times = async (work: (n: number) => Promise<unknown>) => {
  for (let n = 0; n < 3; n++) await work(n);
};

const agentOf = async (call: Client): Promise<string> =>
  created(await call("POST", "/api/v1/agents/specs", { markdown: "---\nname: Agent\n---\nYou help." })).id;

/** Every list with cursors. */
const LISTS: Readonly<Record<string, CursorList>> = {
  "/api/v1/sessions": {
    other: "includeRevoked=true",
    async fill({ origin }) {
      await times(() => browser(origin).signIn());
      return "/api/v1/sessions";
    },
  },
  "/api/v1/access-tokens": {
    other: null,
    async fill({ owner }) {
      await times((n) => owner("POST", "/api/v1/access-tokens", { name: `token ${n}`, expiresInDays: 365 }));
      return "/api/v1/access-tokens";
    },
  },
  "/api/v1/organizations/tokens": {
    other: null,
    async fill({ owner }) {
      await times((n) =>
        owner("POST", n % 2 ? "/api/v1/api-keys" : "/api/v1/access-tokens", { name: `${n}` }),
      );
      return "/api/v1/organizations/tokens";
    },
  },
  "/api/v1/api-keys": {
    other: null,
    async fill({ owner }) {
      await times((n) => owner("POST", "/api/v1/api-keys", { name: `key ${n}` }));
      return "/api/v1/api-keys";
    },
  },
  "/api/v1/installation/organizations": {
    other: null,
    async fill({ owner }) {
      await times((n) => owner("POST", "/api/v1/organizations", { name: `organization ${n}` }));
      return "/api/v1/installation/organizations";
    },
  },
  "/api/v1/installation/users": {
    other: null,
    async fill(weir) {
      await times(() => join(weir, "viewer"));
      return "/api/v1/installation/users";
    },
  },
  "/api/v1/organizations/invitations": {
    other: null,
    async fill({ owner }) {
      const path = "/api/v1/organizations/invitations";
      await times((n) => owner("POST", path, { email: `invited-${n}@example.com` }));
      return path;
    },
  },
  "/api/v1/events/seals": {
    other: null,
    async fill({ app, owner, ids }) {
      await times(async (n) => {
        created(await owner("POST", "/api/v1/api-keys", { name: `sealed ${n}` }));
        await sealHead(app, ids.organizationId);
      });
      return "/api/v1/events/seals";
    },
  },
  "/api/v1/connections": {
    first: "cursor=",
    other: "order=desc",
    async fill({ owner }) {
      await times((n) => connect(owner, localFiles(`Files ${n}`)));
      return "/api/v1/connections";
    },
  },
  "/api/v1/chat/threads": {
    other: null,
    async fill({ owner }) {
      const agentSpecId = await agentOf(owner);
      await times(() => owner("POST", "/api/v1/chat/threads", { agentSpecId }));
      return "/api/v1/chat/threads";
    },
  },
  "/api/v1/chat/threads/{thread_id}/messages": {
    other: null,
    async fill({ app, owner, ids }) {
      const agentSpecId = await agentOf(owner);
      const { id } = created(await owner("POST", "/api/v1/chat/threads", { agentSpecId }));
      await times((n) =>
        app.store.write(async (db) => {
          const at = app.clock.now().toISOString();
          await db.insert(chatMessages).values({
            id: app.ids.uuid(),
            organizationId: ids.organizationId,
            threadId: id,
            turnId: id,
            role: "user",
            content: `message ${n}`,
            format: "text",
            rawData: { id: `${n}`, role: "user", metadata: {}, parts: [] },
            cancelled: false,
            createdAt: at,
            updatedAt: at,
          });
        }),
      );
      return `/api/v1/chat/threads/${id}/messages`;
    },
  },
  "/api/v1/action-runs/{run_id}/logs": {
    other: null,
    async fill({ app, runId }) {
      const line = {
        runId,
        timestamp: app.clock.now().toISOString(),
        level: "info",
        message: "line",
      } as const;
      await app.store.write((db) =>
        times(async (n) => void (await db.insert(runLogs).values({ ...line, seq: n + 1 }))),
      );
      return `/api/v1/action-runs/${runId}/logs`;
    },
  },
  "/api/v1/webhook-deliveries": {
    other: "status=processed",
    async fill(world) {
      await makeHook(world, { action: { kind: "conditional_branch", definition: branch() } });
      await times(() => send(world, "{}"));
      return "/api/v1/webhook-deliveries";
    },
  },
  "/api/v1/notices": {
    other: "automation_id=01900000-0000-7000-8000-00000000abcd",
    async fill({ app, ids }) {
      await times((n) =>
        app.store.write(async (db) => {
          const id = app.ids.uuid();
          await db.insert(notices).values({
            id,
            organizationId: ids.organizationId,
            createdAt: app.clock.now().toISOString(),
            kind: "automation.failed",
            thing: id,
            channel: "mail",
            target: `ops-${n}@example.com`,
            facts: {},
            count: 1,
            attempts: 1,
          });
        }),
      );
      return "/api/v1/notices";
    },
  },
  "/api/v1/dead-letters": {
    other: "source=inbound",
    async fill({ app, ids }) {
      const at = app.clock.now().toISOString();
      const letter = {
        organizationId: ids.organizationId,
        source: "inbound",
        sourceId: app.ids.uuid(),
        deliveryId: app.ids.uuid(),
        attempts: 1,
        firstFailedAt: at,
        lastFailedAt: at,
        error: null,
        replayCount: 0,
        status: "dead",
      } as const;
      await app.store.write((db) =>
        times(async () => void (await db.insert(deadLetters).values({ ...letter, id: app.ids.uuid() }))),
      );
      return "/api/v1/dead-letters";
    },
  },
  "/api/v1/webhooks": {
    other: null,
    async fill({ owner }) {
      await times((n) =>
        owner("POST", "/api/v1/webhooks", { url: `https://hooks.example.com/${n}`, events: ["*"] }),
      );
      return "/api/v1/webhooks";
    },
  },
  "/api/v1/webhooks/{webhook_id}/deliveries": {
    other: "status=delivered",
    async fill({ owner }) {
      const url = "https://hooks.example.com/tried";
      const { id } = created(await owner("POST", "/api/v1/webhooks", { url, events: ["*"] }));
      await times(() => owner("POST", `/api/v1/webhooks/${id}/test`));
      return `/api/v1/webhooks/${id}/deliveries`;
    },
  },
  "/api/v1/events": {
    other: "type=action.*",
    fill: async () => "/api/v1/events",
  },
};

let world: World;
let elsewhere: string;
beforeAll(async () => {
  const weir = await startApp({ engine: false });
  const made = created(
    await weir.owner("POST", "/api/v1/access-tokens", {
      name: "lasting",
      expiresInDays: 365,
      organizations: "all",
    }),
  );
  const ctx = contextFor(weir.app, {
    organizationId: weir.ids.organizationId,
    role: "member",
    actor: { type: "user", id: weir.ids.userId },
    correlationId: "test-cursors",
  });
  const trigger = { method: "api", sourceType: "user", sourceId: weir.ids.userId } as const;
  const run = await write(ctx, (tx) => enqueueRun(tx, { kind: "http_request", definition: {}, trigger }));
  const lasting = client(weir.origin, { authorization: `Bearer ${made.token}` });
  world = Object.assign(weir, { owner: lasting, lasting, runId: run.id });
  elsewhere = created(await weir.owner("POST", "/api/v1/organizations", { name: "Elsewhere" })).id;
});
afterAll(() => world[Symbol.asyncDispose]());

test("every list with cursors is tested here", () => {
  const lists = operations.filter(({ query }) => query?.properties.cursor).map(({ path }) => path);
  const missing = lists.filter((path) => LISTS[path] === undefined);
  expect(missing, `Add these to LISTS: ${missing.join(", ")}`).toEqual([]);
  expect(Object.keys(LISTS).filter((path) => !lists.includes(path))).toEqual([]);
});

describe("a cursor of", () => {
  for (const [name, list] of Object.entries(LISTS)) {
    test(name, async () => {
      const path = await list.fill(world);
      const first = await world.lasting("GET", `${path}?limit=1&${list.first ?? ""}`);
      expect(first.status).toBe(200);
      const cursor: string = first.body.nextCursor;
      const at = (text: string, more = "") =>
        world.lasting("GET", `${path}?limit=1&cursor=${encodeURIComponent(text)}${more}`);

      const second = await at(cursor);
      expect([second.status, second.text === first.text]).toEqual([200, false]);

      // Every bit of it matters.
      for (let index = 0; index < cursor.length; index++) {
        const flipped = String.fromCharCode(cursor.charCodeAt(index) ^ (1 << (index % 6)));
        const altered = cursor.slice(0, index) + flipped + cursor.slice(index + 1);
        const { status, body } = await at(altered);
        expect([altered, status]).toEqual([altered, 422]);
        expect(body.detail).toEqual([
          { loc: ["query", "cursor"], msg: expect.any(String), type: "cursor_invalid" },
        ]);
      }
      for (const text of [`${cursor}.`, cursor.slice(1), cursor.slice(0, -1), "x", `${cursor}${cursor}`])
        expect([text, (await at(text)).status]).toEqual([text, 422]);

      // It isn't valid for another filter or order, another organization, or another list.
      if (list.other !== null) expect((await at(cursor, `&${list.other}`)).status).toBe(422);
      const there = await world.lasting(
        "GET",
        `${path}?limit=1&cursor=${encodeURIComponent(cursor)}`,
        undefined,
        { "x-organization-id": elsewhere },
      );
      expect([404, 422]).toContain(there.status);
      const stranger = name === "/api/v1/events" ? "/api/v1/sessions" : "/api/v1/events";
      expect((await world.lasting("GET", `${stranger}?cursor=${encodeURIComponent(cursor)}`)).status).toBe(
        422,
      );

      // Valid for 24 hours.
      world.clock.turn(24 * 60 * 60 * 1000 - 60_000);
      expect((await at(cursor)).status).toBe(200);
      world.clock.turn(2 * 60_000);
      const late = await at(cursor);
      expect([late.status, late.body.code]).toEqual([410, "cursor_expired"]);
    });
  }
});

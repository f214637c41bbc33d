/** Token endpoints that reject during the work, and those that only fail. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { sellerKeys, startSeller } from "../peers/amazon-seller.ts";
import { driveUser, startDrive } from "../peers/google-drive.ts";
import { startApp } from "../support/app.ts";
import { ok, published, schemaOf } from "../support/bundles.ts";
import { CONNECTIONS, connect, trailOf } from "../support/connections.ts";
import { startReceiver } from "../support/receiver.ts";
import { someOf } from "../support/scale.ts";
import { ACTIONS, correlationOf, created, makeAction, runEnd, runToEnd } from "../support/work.ts";

let started: Awaited<ReturnType<typeof startApp>>;
let owner: typeof started.owner;
// Each has its own, since each invalidates tokens, and users' tokens expire by the same clock.
beforeEach(async () => {
  started = await startApp();
  owner = started.owner;
});
afterEach(async () => {
  await started[Symbol.asyncDispose]();
});

/** Sets the token endpoint's response. Null for a token. */
type Says = (answer: { status: number; body: string } | null) => void;

interface Peer {
  /** Body of a connection to it. */
  body: object;
  /** Body of an action that needs a token. */
  action: object;
  says: Says;
  asked(): number;
  end(): Promise<void>;
}

const extract = (spec: string) => ({
  kind: "dlt_extract",
  definition: { resources: [{ name: spec, spec }], dataset: `refused_${++count}` },
});

let count = 0;

async function drive(): Promise<Peer> {
  const peer = await startDrive();
  let answer: { status: number; body: string } | null = null;
  peer.state.instead = ({ path }) => (path === "/token" ? answer : null);
  peer.put({ id: "a", name: "a.csv", mimeType: "text/csv", content: "id\n1\n" });
  return {
    body: { provider: "google_drive", config: { baseUrl: peer.baseUrl }, credentials: driveUser },
    action: extract("*.csv"),
    says(next) {
      answer = next;
    },
    asked: () => peer.asked.filter(({ path }) => path === "/token").length,
    end: () => peer[Symbol.asyncDispose](),
  };
}

async function seller(): Promise<Peer> {
  const peer = await startSeller();
  let answer: { status: number; body: string } | null = null;
  peer.state.instead = ({ path }) => (path === "/auth/o2/token" ? answer : null);
  return {
    body: { provider: "amazon_seller", config: peer.config, credentials: sellerKeys },
    action: extract("inventory"),
    says(next) {
      answer = next;
    },
    asked: () => peer.asked.filter(({ path }) => path === "/auth/o2/token").length,
    end: () => peer[Symbol.asyncDispose](),
  };
}

async function template(): Promise<Peer> {
  let answer: { status: number; body: string } | null = null;
  const peer = startReceiver(({ path }) => {
    if (path !== "/token") return Response.json({});
    if (answer) return new Response(answer.body, { status: answer.status });
    return Response.json({ access_token: "token", token_type: "bearer", expires_in: 3600 });
  });
  const { id } = await published(owner, {
    slug: `refusing-${++count}`,
    displayName: "An API",
    templateType: "connection",
    definition: {
      http: {
        baseUrl: "{{config.baseUrl}}",
        auth: { type: "oauth2_client_credentials", tokenUrl: "{{config.baseUrl}}/token" },
        verify: { method: "GET", path: "/me" },
      },
      configSchema: schemaOf({ baseUrl: { type: "string" } }, { required: ["baseUrl"] }),
      credentialsSchema: schemaOf({ clientId: { type: "string" }, clientSecret: { type: "string" } }),
    },
  });
  return {
    body: {
      templateId: id,
      config: { baseUrl: peer.url },
      credentials: { clientId: "us", clientSecret: "the secret/1" },
    },
    action: { kind: "http_request", definition: { url: "/a" } },
    says(next) {
      answer = next;
    },
    asked: () => peer.got.filter(({ path }) => path === "/token").length,
    end: () => peer[Symbol.asyncDispose](),
  };
}

const json = (status: number, error: string) => ({ status, body: JSON.stringify({ error }) });

/** Creates a verified connection to `peer` with an action. Its token has expired. */
async function prepare(peer: Peer) {
  const made = await connect(owner, { name: `Refusing ${++count}`, ...peer.body });
  const at = `${CONNECTIONS}/${made.id}`;
  expect(ok(await owner("POST", `${at}/verify`))).toMatchObject({
    status: "active",
    verificationError: null,
  });
  const action = await makeAction(owner, { name: `Asks ${count}`, connectionId: made.id, ...peer.action });
  started.clock.turn(7_200_000);
  return {
    id: made.id as string,
    action: action.id as string,
    run: () => runToEnd(owner, action.id),
    show: async () => ok(await owner("GET", at)),
    verify: async () => ok(await owner("POST", `${at}/verify`)),
    errors: async () => (await trailOf(started, made.id)).filter(({ type }) => type === "connection.error"),
  };
}

describe.each(
  someOf(1, [
    ["a template with oauth2_client_credentials", template],
    ["google_drive", drive],
    ["amazon_seller", seller],
  ]),
)("of %s", (_, start) => {
  test("a rejected token fails the run, marks the connection and is reported once, until it works again", async () => {
    const peer = await start();
    const { id, run, show, verify, errors } = await prepare(peer);
    peer.says(json(400, "invalid_grant"));
    const failed = await run();
    expect(failed).toMatchObject({ status: "failed", error: { code: "upstream", retryable: false } });
    expect(failed.error.message).toMatch(/(then|and) verify the connection/);
    const marked = await show();
    expect(marked).toMatchObject({ status: "error", verificationError: failed.error.message });
    expect(await errors()).toMatchObject([
      {
        actorType: "system",
        correlationId: await correlationOf(started, failed.id),
        data: { status: "error", code: "upstream", message: failed.error.message, runId: failed.id },
      },
    ]);
    expect((await run()).error).toMatchObject({ code: "upstream" });
    expect((await verify()).status).toBe("error");
    expect([(await errors()).length, (await show()).updatedBy]).toEqual([1, marked.updatedBy]);

    peer.says(null);
    expect(await verify()).toMatchObject({ status: "active", verificationError: null });
    expect((await run()).status).toBe("completed");
    started.clock.turn(7_200_000);
    peer.says(json(401, "invalid_client"));
    await owner("GET", `${CONNECTIONS}/${id}/files`); // A user gets the same error as a run, if there are files.
    await run();
    expect([(await show()).status, (await errors()).length]).toEqual(["error", 2]);
    await peer.end();
  }, 120_000);

  test.each(
    someOf(2, [
      ["400 unauthorized_client", json(400, "unauthorized_client"), "error"],
      ["401 with a page", { status: 401, body: "<html>No</html>" }, "error"],
      ["503", json(503, "invalid_grant"), "active"],
      ["500 with a page", { status: 500, body: "<html>Oops</html>" }, "active"],
      ["400 temporarily_unavailable", json(400, "temporarily_unavailable"), "active"],
    ]),
  )(
    "a response of %s is distinguished",
    async (_name, answer, status) => {
      const peer = await start();
      const { id, show, errors } = await prepare(peer);
      peer.says(answer);
      const action = await makeAction(owner, {
        name: `Hurries ${++count}`,
        connectionId: id,
        ...peer.action,
      });
      // A failing endpoint is called repeatedly. What matters is the connection's state by then.
      const { id: run } = created(await owner("POST", `${ACTIONS}/${action.id}/run`));
      const before = peer.asked();
      for (const start = performance.now(); peer.asked() < before + 1 && performance.now() - start < 60_000; )
        await Bun.sleep(5);
      if (status === "active") await owner("POST", `/api/v1/action-runs/${run}/cancel`);
      await runEnd(owner, run);
      expect([(await show()).status, (await errors()).length]).toEqual([status, status === "error" ? 1 : 0]);
      await peer.end();
    },
    120_000,
  );
});

test("an unreachable endpoint has rejected nothing", async () => {
  const peer = await template();
  const { run, show, errors } = await prepare(peer);
  await peer.end();
  expect((await run()).error).toMatchObject({ code: "upstream", retryable: true });
  expect([(await show()).status, await errors()]).toEqual(["active", []]);
});

test("several concurrent runs that are rejected report it once", async () => {
  const peer = await template();
  const { action, show, errors } = await prepare(peer);
  peer.says(json(400, "invalid_client"));
  const runs = await Promise.all(
    Array.from({ length: 6 }, async () => created(await owner("POST", `${ACTIONS}/${action}/run`)).id),
  );
  for (const id of runs) expect((await runEnd(owner, id)).status).toBe("failed");
  expect([(await show()).status, (await errors()).length]).toEqual(["error", 1]);
  await peer.end();
});

test("a connection that was disabled, or given other credentials, in the meantime stays unchanged", async () => {
  for (const [change, status] of [
    [(at: string) => owner("POST", `${at}/disable`), "disabled"],
    [(at: string) => owner("PATCH", at, { credentials: { clientSecret: "another" } }), "needs_verification"],
  ] as const) {
    const asked = Promise.withResolvers<void>();
    const open = Promise.withResolvers<void>();
    const peer = await template();
    const { id, action, show, errors } = await prepare(peer);
    await using slow = startReceiver(async ({ path }) => {
      if (path !== "/token") return Response.json({});
      asked.resolve();
      await open.promise;
      return Response.json({ error: "invalid_client" }, { status: 400 });
    });
    const at = `${CONNECTIONS}/${id}`;
    const credentials = { clientId: "us", clientSecret: "the secret/1" };
    ok(await owner("PATCH", at, { config: { baseUrl: slow.url }, credentials }));
    const { id: run } = created(await owner("POST", `${ACTIONS}/${action}/run`));
    await asked.promise;
    ok(await change(at));
    open.resolve();
    expect((await runEnd(owner, run)).status).toBe("failed");
    expect([(await show()).status, await errors()]).toEqual([status, []]);
    await peer.end();
  }
});

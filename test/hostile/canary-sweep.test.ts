import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { operations } from "../../src/server.ts";
import { type Answer, startApp } from "../support/app.ts";
import { startEchoHttp, startEchoPostgres, startEchoS3 } from "../support/echo.ts";
import { makeHook, send, sign } from "../support/hook.ts";
import { browser } from "../support/people.ts";
import { branch, created, makeAction, makeAutomation, makeOldAction, runToEnd } from "../support/work.ts";

/** One secret for each place that takes one. */
const canary = (name: string) => `canary${Bun.hash(name).toString(36)}of${name}`;
const GIVEN = {
  postgresUser: canary("postgresUser"),
  postgresPassword: canary("postgresPassword"),
  s3KeyId: canary("s3KeyId"),
  s3Secret: canary("s3Secret"),
  s3Session: canary("s3Session"),
  bearer: canary("bearer"),
  basic: canary("basic"),
  header: canary("header"),
  query: canary("query"),
  path: canary("path"),
  oauthSecret: canary("oauthSecret"),
  oauthToken: canary("oauthToken"),
  webhook: canary("webhook"),
  /** In a definition from before secrets were refused there. */
  old: canary("old"),
  bundleInput: canary("bundleInput"),
  password: canary("password"),
  wrongPassword: canary("wrongPassword"),
  sender: canary("sender"),
  oidcSecret: canary("oidcSecret"),
} as const;
/** Made by Weir, and shown in one reply. */
const shownOnce: string[] = [];

const SECRET_KEY = Buffer.from("canary-of-the-master-key-32bytes").toString("base64");

const api = (path: string) => `/api/v1/${path}`;
const echo = startEchoHttp(GIVEN.oauthToken);
/** Of another address: what tenants reach is none of Weir's own services. */
const provider = startEchoHttp(GIVEN.oauthToken);
const s3 = startEchoS3();
const postgres = startEchoPostgres();

let weir: Awaited<ReturnType<typeof startApp>>;
/** Replies to calls that are not the one that shows a secret. */
const replies: { at: string; text: string }[] = [];

async function call(
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
): Promise<Answer> {
  const answer = await weir.owner(method, path, body, headers);
  replies.push({ at: `${method} ${path}`, text: answer.text + JSON.stringify([...answer.headers]) });
  return answer;
}

/** Makes something whose reply shows a secret, and never again. */
async function show(path: string, body: object, pick: (made: Answer["body"]) => string, key?: string) {
  const made = created(await weir.owner("POST", path, body, key ? { "idempotency-key": key } : {}));
  shownOnce.push(pick(made));
  return made;
}

beforeAll(async () => {
  weir = await startApp({
    env: {
      WEIR_SECRET_KEY: SECRET_KEY,
      WEIR_OIDC_ISSUER: provider.url,
      WEIR_OIDC_CLIENT_ID: "weir",
      WEIR_OIDC_CLIENT_SECRET: GIVEN.oidcSecret,
    },
  });
  await giveConnections();
  await givePeople();
  await giveWork();
}, 120_000);
afterAll(async () => {
  await weir[Symbol.asyncDispose]();
  for (const peer of [echo, provider, s3, postgres]) peer.stop();
});

/** Credentials for peers that repeat them, in everything that reaches out to these. */
async function giveConnections() {
  const warehouse = created(
    await call("POST", api("connections"), {
      name: "Warehouse",
      provider: "postgres",
      config: { host: "127.0.0.1", port: postgres.port, database: "shop" },
      credentials: { user: GIVEN.postgresUser, password: GIVEN.postgresPassword },
    }),
  );
  const bucket = created(
    await call("POST", api("connections"), {
      name: "Bucket",
      provider: "s3",
      config: { bucket: "bucket", endpointUrl: s3.url, forcePathStyle: true },
      credentials: {
        accessKeyId: GIVEN.s3KeyId,
        secretAccessKey: GIVEN.s3Secret,
        sessionToken: GIVEN.s3Session,
      },
    }),
  );
  for (const { id } of [warehouse, bucket]) {
    const { body } = await call("POST", api(`connections/${id}/verify`));
    expect(body).toMatchObject({ status: "error", verificationError: expect.any(String) });
    await call("GET", api(`connections/${id}/files`));
    await call("GET", api(`connections/${id}/schema/tables`));
    await call("GET", api(`connections/${id}/schema/columns?schema=public&table=orders`));
    const definition = { dataset: "shop", resources: [{ name: "orders", spec: "orders" }] };
    const action = await makeAction(weir.owner, { kind: "dlt_extract", connectionId: id, definition });
    expect((await runToEnd(weir.owner, action.id)).status).toBe("failed");
  }

  const ways = {
    bearer: { auth: { type: "bearer" }, credentials: { token: GIVEN.bearer } },
    basic: { auth: { type: "basic" }, credentials: { username: "ada", password: GIVEN.basic } },
    header: { auth: { type: "header" }, credentials: { apiKey: GIVEN.header } },
    query: { auth: { type: "query" }, credentials: { apiKey: GIVEN.query } },
    path: { auth: { type: "path", prefix: "bot" }, credentials: { token: GIVEN.path } },
    oauth: {
      auth: { type: "oauth2_client_credentials", tokenUrl: `${echo.url}/token`, clientAuth: "body" },
      credentials: { clientId: "weir", clientSecret: GIVEN.oauthSecret },
    },
  };
  for (const [name, { auth, credentials }] of Object.entries(ways)) {
    const template = created(
      await call("POST", api("templates"), {
        slug: `way-${name}`,
        displayName: name,
        templateType: "connection",
        definition: { http: { baseUrl: echo.url, auth, verify: { path: "/refused" } } },
      }),
    );
    await call("POST", api(`templates/${template.id}/publish`));
    const { id } = created(
      await call("POST", api("connections"), { name, templateSlug: `way-${name}`, credentials }),
    );
    expect((await call("POST", api(`connections/${id}/verify`))).body.status).toBe("error");
    for (const [path, status] of [
      ["/refused", "failed"],
      ["/ok", "completed"],
    ] as const) {
      const definition = { url: path, method: "POST", body: "{{run.id}}", responseExtract: "headers" };
      const action = await makeAction(weir.owner, { kind: "http_request", connectionId: id, definition });
      expect((await runToEnd(weir.owner, action.id)).status).toBe(status);
    }
  }
}

async function givePeople() {
  const { anonymous, owner } = weir;
  await show(api("access-tokens"), { name: "x" }, ({ token }) => token, "kept-token");
  const key = await show(api("api-keys"), { name: "x" }, ({ key }) => key, "kept-key");
  await anonymous("GET", api("actions"), undefined, { "x-api-key": key.key });
  const invited = await show(
    api("organizations/invitations"),
    { email: "grace@example.com" },
    ({ inviteUrl }) => new URL(inviteUrl).searchParams.get("token") ?? "",
    "kept-invitation",
  );
  const token = new URL(invited.inviteUrl).searchParams.get("token");
  const grace = browser(weir.origin);
  const accepted = await grace.call("POST", api("auth/invitations/accept"), {
    token,
    password: GIVEN.password,
  });
  expect(accepted.status).toBe(201);
  shownOnce.push(grace.cookie().replace("svc_token=", ""));
  await grace.call("POST", api("auth/login"), { email: "grace@example.com", password: GIVEN.password });
  shownOnce.push(grace.cookie().replace("svc_token=", ""));
  await anonymous("POST", api("auth/login"), { email: "grace@example.com", password: GIVEN.wrongPassword });

  const { body: codes } = await anonymous("POST", api("auth/device/code"), { client_id: "weir-cli" });
  shownOnce.push(codes.device_code, codes.user_code);
  await grace.call("POST", api("auth/device/approve"), { userCode: codes.user_code, approve: true });
  const { body: granted } = await anonymous("POST", api("auth/device/token"), {
    grant_type: "urn:ietf:params:oauth:grant-type:device_code",
    device_code: codes.device_code,
    client_id: "weir-cli",
  });
  shownOnce.push(granted.access_token);
  await anonymous("GET", api("actions"), undefined, { authorization: `Bearer ${granted.access_token}x` });
  await owner("GET", api("auth/oidc/start"));
  for (const secret of shownOnce) expect(secret.length).toBeGreaterThan(8);
}

async function giveWork() {
  const hook = await makeHook(weir, {
    secret: GIVEN.webhook,
    debug: true,
    action: {
      kind: "http_request",
      definition: { url: `${echo.url}/refused`, method: "POST", body: "{{payload}}" },
    },
    retries: { enabled: false },
  });
  await call("PATCH", api(`automations/${hook.id}`), { config: { secret: `${GIVEN.webhook}-2` } });
  const headers = {
    "x-svc-signature": sign("{}", `${GIVEN.webhook}-2`),
    authorization: `Bearer ${GIVEN.sender}`,
    cookie: `session=${GIVEN.sender}`,
    "x-api-key": GIVEN.sender,
  };
  const delivered = await send(weir, "{}", headers);
  expect(delivered.status).toBe(500);
  replies.push({ at: "webhook", text: delivered.text });

  const old = {
    url: `${echo.url}/refused?api_key=${GIVEN.old}`,
    headers: { authorization: `Bearer ${GIVEN.old}` },
  };
  const action = await makeOldAction(weir, { kind: "http_request", definition: old });
  const run = await call("POST", api(`actions/${action.id}/run`));
  expect(run.status).toBe(201);
  await makeAutomation(weir.owner, { action: { kind: "conditional_branch", definition: branch() } });

  const bundle = created(
    await call("POST", api("templates"), {
      slug: "canaries",
      displayName: "Canaries",
      templateType: "bundle",
      definition: {
        components: [
          {
            key: "warehouse",
            type: "connection",
            definition: {
              provider: "postgres",
              config: { host: "127.0.0.1", port: postgres.port, database: "shop" },
              credentials: { user: "ada", password: "{{inputs.password}}" },
            },
          },
        ],
      },
      inputJsonSchema: { type: "object", properties: { password: { type: "string", format: "password" } } },
    }),
  );
  await call("POST", api(`templates/${bundle.id}/publish`));
  const installed = await call("POST", api("bundles/canaries/install"), {
    inputs: { password: GIVEN.bundleInput },
  });
  expect(installed.status).toBe(200);
}

/** Every reading operation, for every thing that any list shows; below an address only for what is found there. */
async function readEverything() {
  const seen = new Set<string>();
  const uuids = (text: string) =>
    text.match(/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g) ?? [];
  const reads = operations.filter(
    ({ method, produces }) => method === "GET" && produces !== "text/event-stream",
  );
  for (const { path, query } of reads.filter(({ path }) => !path.includes("{"))) {
    const limit = query?.properties.limit?.maximum;
    const { text } = await call("GET", limit ? `${path}?limit=${limit}` : path);
    for (const id of uuids(text)) seen.add(id);
  }
  const found = new Map<string, string[]>();
  const ofThings = reads.map(({ path }) => path).filter((path) => path.includes("_id}"));
  for (const path of ofThings.toSorted((a, b) => a.length - b.length)) {
    if (path.includes("/schema/") || path.endsWith("/files")) continue; // these were asked above
    const above = path.slice(0, path.indexOf("}") + 1);
    const there: string[] = [];
    for (const id of found.get(above) ?? seen) {
      const { status, text } = await weir.owner("GET", path.replace(/\{\w+_id\}/, id));
      if (status !== 200) continue;
      replies.push({ at: `GET ${path} ${id}`, text });
      there.push(id);
    }
    if (path === above) found.set(above, there);
  }
}

/** All but DuckDB's library, whose 70 MB nobody writes into. */
const filesIn = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile() && !path.startsWith(join(folder, "scratch/cache/")))
    .map((path) => ({ at: path, text: readFileSync(path, "latin1") }));

/** Where any of the secrets stands, plain or in base64, and which. */
const leaksIn = (texts: readonly { at: string; text: string }[], secrets: readonly string[]) =>
  texts.flatMap(({ at, text }) =>
    secrets
      .flatMap((secret) => [
        secret,
        Buffer.from(`ada:${secret}`).toString("base64"),
        encodeURIComponent(secret),
      ])
      .filter((secret) => text.includes(secret))
      .map(
        (secret) =>
          `${at}: ${secret} … ${text.slice(Math.max(0, text.indexOf(secret) - 80), text.indexOf(secret))}`,
      ),
  );

test("no secret stands anywhere, whatever the systems that it was meant for say back", async () => {
  await readEverything();
  await weir.app.store.backup(join(weir.dataFolder, "backups", "canary.db"));
  expect(replies.length).toBeGreaterThan(150);
  const secrets = [...Object.values(GIVEN), ...shownOnce, SECRET_KEY, weir.token];
  expect(leaksIn(replies, secrets)).toEqual([]);
  expect(
    leaksIn(
      weir.logged.map((text) => ({ at: "log", text })),
      secrets,
    ),
  ).toEqual([]);
  // what somebody writes into a definition is theirs, and kept as it is for the run; only credentials are sealed
  const sealed = secrets.filter((secret) => secret !== GIVEN.old);
  expect(leaksIn(filesIn(weir.dataFolder), sealed)).toEqual([]);
});

test("a reply with a secret is given again under its Idempotency-Key, and kept sealed", async () => {
  const again = await weir.owner("POST", api("api-keys"), { name: "x" }, { "idempotency-key": "kept-key" });
  expect([again.headers.get("idempotency-replayed"), shownOnce.includes(again.body.key)]).toEqual([
    "true",
    true,
  ]);
});

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createServer } from "node:net";
import { startSmtp } from "../peers/smtp.ts";
import { client, startApp } from "../support/app.ts";
import { published, schemaOf } from "../support/bundles.ts";
import { CONNECTIONS, connect, faultsOf, localFiles, trailOf } from "../support/connections.ts";
import { join } from "../support/people.ts";
import { startPostgres, type TestPostgres } from "../support/postgres.ts";
import { startReceiver } from "../support/receiver.ts";

let postgres: TestPostgres;
beforeAll(async () => {
  postgres = await startPostgres();
});
afterAll(() => postgres[Symbol.asyncDispose]());

const database = (more: object = {}, credentials: object = {}) => ({
  name: "Shop database",
  provider: "postgres",
  config: { host: postgres.host, port: postgres.port, database: postgres.database, ...more },
  credentials: { user: postgres.user, password: postgres.password, ...credentials },
});

/** Someone else's server, which counts requests. */
async function startSpy() {
  let visits = 0;
  const server = createServer((socket) => {
    visits++;
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return {
    port: typeof address === "object" && address ? address.port : 0,
    visits: () => visits,
    [Symbol.dispose]: () => void server.close(),
  };
}

const TEST = `${CONNECTIONS}/test`;

describe("settings of a new connection", () => {
  test("are tested with a real request, and only an event is stored", async () => {
    await using started = await startApp({ engine: false });
    const works = await started.owner("POST", TEST, database());
    expect([works.status, works.body]).toEqual([
      200,
      { status: "active", verificationError: null, field: null, durationSeconds: expect.any(Number) },
    ]);
    expect((await started.owner("GET", CONNECTIONS)).body.total).toBe(0);
    const { body } = await started.owner("GET", "/api/v1/events?type=connection.tested");
    expect(body.items).toMatchObject([
      {
        data: { status: "active", provider: "postgres", isSaved: false, config: { host: postgres.host } },
        actor: { type: "user", id: started.ids.userId },
      },
    ]);
    expect(JSON.stringify(body)).not.toContain(postgres.password);
  });

  test("that their system rejects name the wrong field, and hide the secret", async () => {
    await using started = await startApp({ engine: false });
    for (const [body, sentence, field] of [
      [database({}, { password: "wrong-canary" }), /rejected the password/, ["credentials", "password"]],
      [database({ database: "nope" }), /no database "nope"/, ["config", "database"]],
      [database({ host: "nobody.invalid" }), /nobody\.invalid/, null],
    ] as const) {
      const answer = await started.owner("POST", TEST, body);
      expect(answer.body).toMatchObject({ status: "error", field });
      expect(answer.body.verificationError).toMatch(sentence);
      expect(answer.text).not.toContain("canary");
    }
  });

  test("of a template's API with one credential, and of a mail server, name what was rejected", async () => {
    await using started = await startApp({ engine: false });
    await using api = startReceiver(() => new Response("", { status: 401 }));
    const definition = {
      http: {
        baseUrl: api.url,
        auth: { type: "bearer", token: "{{credentials.token}}" },
        verify: { path: "/me" },
      },
      credentialsSchema: schemaOf({ token: { type: "string" } }, { required: ["token"] }),
    };
    const template = { slug: "shop-api", displayName: "Shop API", templateType: "connection", definition };
    await published(started.owner, template);
    const refused = await started.owner("POST", TEST, {
      name: "Shop",
      templateSlug: "shop-api",
      credentials: { token: "canary-of-the-shop" },
    });
    expect(refused.body).toMatchObject({ status: "error", field: ["credentials", "token"] });
    expect(refused.text).not.toContain("canary");
    await using mail = await startSmtp({ user: "weir", password: "right" });
    const sent = await started.owner("POST", TEST, {
      name: "Mail",
      provider: "smtp",
      config: { host: "127.0.0.1", port: mail.port, security: "none", from: "weir@example.com" },
      credentials: { user: "weir", password: "wrong-canary" },
    });
    expect(sent.body).toMatchObject({ status: "error", field: ["credentials", "password"] });
  });

  test("are checked as at creation, and can be tested by anyone who may create", async () => {
    await using started = await startApp({ engine: false });
    const faulty = await started.owner("POST", TEST, database({ port: 0 }, { user: null }));
    expect([faulty.status, faultsOf(faulty)]).toEqual([
      422,
      ["body.config.port greater_than_equal", "body.credentials.user missing"],
    ]);
    expect((await (await join(started, "viewer")).call("POST", TEST, database())).status).toBe(403);
    expect((await (await join(started, "member")).call("POST", TEST, database())).status).toBe(200);
    const token = await started.owner("POST", "/api/v1/access-tokens", {
      name: "Runs",
      scopes: ["read", "run"],
    });
    expect(token.status).toBe(201);
    const runner = client(started.origin, { authorization: `Bearer ${token.body.token}` });
    const refused = await runner("POST", TEST, database());
    expect([refused.status, refused.body.code]).toEqual([403, "scope_missing"]);
  });

  test("of an account that a user signs in to are saved first", async () => {
    await using started = await startApp({ engine: false });
    const credentials = { clientId: "weir", clientSecret: "canary" };
    const answer = await started.owner("POST", TEST, {
      name: "Drive",
      provider: "google_drive",
      credentials,
    });
    expect([answer.status, answer.body.code]).toEqual([409, "invalid_state"]);
    expect(answer.body.detail).toContain("sign in");
  });

  test("access no private address without permission", async () => {
    await using started = await startApp({ engine: false, env: { WEIR_EGRESS_ALLOW: "" } });
    const { body } = await started.owner("POST", TEST, database());
    expect(body).toMatchObject({
      status: "error",
      verificationError: expect.stringContaining("WEIR_EGRESS_ALLOW"),
    });
  });
});

describe("changes to a connection", () => {
  test("are tested with the stored credentials, and change nothing", async () => {
    await using started = await startApp({ engine: false });
    const made = await connect(started.owner, database());
    const at = `${CONNECTIONS}/${made.id}`;
    const { body: before } = await started.owner("POST", `${at}/verify`);
    const sound = await started.owner("POST", `${at}/test`, {});
    expect(sound.body).toMatchObject({ status: "active", verificationError: null });
    const other = await started.owner("POST", `${at}/test`, { config: { database: "nope" } });
    expect(other.body).toMatchObject({ status: "error", field: ["config", "database"] });
    const typed = await started.owner("POST", `${at}/test`, { credentials: { password: "wrong-canary" } });
    expect(typed.body).toMatchObject({ status: "error", field: ["credentials", "password"] });
    expect((await started.owner("GET", at)).body).toEqual(before);
    const trail = await trailOf(started, made.id);
    expect(trail.slice(-3).map(({ type, data }) => [type, data.status, data.isSaved])).toEqual([
      ["connection.tested", "active", false],
      ["connection.tested", "error", false],
      ["connection.tested", "error", false],
    ]);
    expect(JSON.stringify(trail)).not.toContain("canary");
  });

  test("never send stored credentials to another destination, or there with less protection", async () => {
    await using started = await startApp({ engine: false });
    using spy = await startSpy();
    const made = await connect(started.owner, database({ sslMode: "prefer" }));
    const at = `${CONNECTIONS}/${made.id}/test`;
    for (const change of [
      { config: { port: spy.port } },
      { config: { host: "localhost", port: spy.port }, credentials: { user: "reader" } },
      { config: { sslMode: "disable" } },
    ]) {
      const answer = await (await join(started, "member")).call("POST", at, change);
      expect([answer.status, faultsOf(answer)]).toEqual([422, ["body.credentials credentials_required"]]);
    }
    expect(spy.visits()).toBe(0);
    const { credentials } = database();
    const given = await (await join(started, "member")).call("POST", at, {
      config: { port: spy.port },
      credentials,
    });
    expect(given.body).toMatchObject({ status: "error" });
    expect(spy.visits()).toBeGreaterThan(0);
  });

  test("are tested thirty times at once, and more only later", async () => {
    await using started = await startApp({ engine: false });
    const made = await connect(started.owner, localFiles("Files"));
    const at = `${CONNECTIONS}/${made.id}/test`;
    let refused = await started.owner("POST", at, {});
    let tested = 0;
    // On a slow machine, some are restored in the meantime.
    for (; refused.status === 200 && tested < 200; tested++) refused = await started.owner("POST", at, {});
    expect(tested).toBeGreaterThanOrEqual(30);
    expect([refused.status, refused.body.code]).toEqual([429, "rate_limited"]);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
  });

  test("of a disabled connection, or of another organization's, aren't tested", async () => {
    await using started = await startApp({ engine: false });
    const made = await connect(started.owner, localFiles("Files"));
    const at = `${CONNECTIONS}/${made.id}`;
    await started.owner("POST", `${at}/disable`);
    expect((await started.owner("POST", `${at}/test`, {})).body.code).toBe("invalid_state");
    const absent = `${CONNECTIONS}/01890a5d-ac96-774b-bcce-b302099a8057/test`;
    expect((await started.owner("POST", absent, {})).status).toBe(404);
  });
});

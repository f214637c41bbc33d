import { describe, expect, test } from "bun:test";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { brotliDecompressSync } from "node:zlib";
import { stamped } from "../support/hook.ts";
import { freePort } from "../support/postgres.ts";
import { deepTest } from "../support/scale.ts";
import { bareMachine, PASSWORD } from "./executable.ts";

describe("weir serve", () => {
  test("responds, accepts the token of weir init, rejects bad numbers, and stops on request", async () => {
    await using machine = bareMachine();
    const { token, organizationId } = await machine.init();
    const server = await machine.serve({ token });
    expect((await server.call("GET", "/health")).body).toEqual({ status: "ok" });
    expect((await server.call("GET", "/api/v1/users/me")).body.email).toBe("ada@example.com");
    for (const query of ["limit=0", "limit=101", "limit=ten", "offset=-1", "limit=1.5"]) {
      const refused = await server.call("GET", `/api/v1/actions?${query}`);
      expect([query, refused.status]).toEqual([query, 422]);
      expect(refused.body.detail[0].loc).toEqual(["query", query.split("=")[0]]);
    }
    expect((await server.call("GET", "/api/v1/organizations/current")).body.id).toBe(organizationId);
    expect(
      (await server.call("POST", "/api/v1/auth/login", { email: "ada@example.com", password: PASSWORD }))
        .status,
    ).toBe(200);
    expect(await server.end("SIGTERM")).toBe(0);
  });

  deepTest("prints a setup link if there is no owner", async () => {
    await using machine = bareMachine();
    const server = machine.start(["serve", "--port", "0"]);
    const link = await server.line((line) => /Set up: (http:[^"]+)"/.exec(line)?.[1] ?? null);
    const { origin, pathname, searchParams } = new URL(link);
    expect(pathname).toBe("/setup");
    const owner = {
      email: "ada@example.com",
      password: PASSWORD,
      firstName: "Ada",
      lastName: "L",
      organizationName: "Acme",
    };
    const made = await fetch(`${origin}/api/v1/auth/setup`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ token: searchParams.get("token"), ...owner }),
    });
    expect(made.status).toBe(201);
    expect(await server.end("SIGINT")).toBe(0);
  });

  test("keeps its state readable only by its owner", async () => {
    await using machine = bareMachine();
    await machine.init();
    for (const name of ["weir.db", "secret.key"]) {
      expect([name, statSync(join(machine.here, "weir-data", name)).mode & 0o777]).toEqual([name, 0o600]);
    }
    expect(statSync(join(machine.here, "weir-data")).mode & 0o777).toBe(0o700);
  });

  test("is rejected next to another one on the same data, in one sentence, as is weir init", async () => {
    await using machine = bareMachine();
    await machine.init();
    const first = await machine.serve();
    const second = await machine.run(["serve", "--port", "0"]);
    expect(second).toMatchObject({ code: 1, out: "" });
    expect(second.err).toMatch(
      /^weir: Another Weir server is already using \/\S+\. Stop it, or set --data to another directory\.\n$/,
    );
    const valid = { code: 0, out: expect.stringMatching(/^acme: valid, \d+ events verified\n$/) };
    expect(await machine.run(["events", "verify"])).toMatchObject(valid); // It only reads.
    expect(await first.end()).toBe(0);
    expect(await machine.run(["events", "verify"])).toMatchObject(valid);
    expect(await machine.run(["events", "verify", "--json"])).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^{"valid":true,"checked":\d+,"firstBadId":null}\n$/),
    });
  });

  deepTest(
    "closes everything when it stops, even after a query",
    async () => {
      await using machine = bareMachine();
      const { token } = await machine.init();
      const server = await machine.serve({ token });
      expect((await server.call("POST", "/api/v1/query", { sql: "SELECT 1 AS n" })).status).toBe(200);
      expect(await server.end("SIGTERM")).toBe(0);
      await server.line((line) => (line.includes("server stopped") ? line : null));
      expect(readdirSync(join(machine.here, "weir-data"))).not.toContain("weir.db-wal");
    },
    120_000,
  );

  test("is rejected on another weir's port: neither gets the other's requests", async () => {
    await using one = bareMachine();
    await using two = bareMachine();
    const { port } = new URL((await one.serve()).origin);
    const { code, err } = await two.run(["serve", "--port", port]);
    expect([code, err]).toEqual([1, expect.stringContaining("the port is in use")]);
  }, 120_000);

  test("is rejected on another program's port, in one sentence", async () => {
    await using machine = bareMachine();
    const other = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
    const { code, err } = await machine.run(["serve", "--port", String(other.port)]);
    other.stop(true);
    expect(code).toBe(1);
    expect(err).toBe(
      `weir: Couldn't listen on 127.0.0.1:${other.port}: the port is in use. Set another port with --port.\n`,
    );
  });

  test("is rejected with a secret key other than that of its data", async () => {
    await using machine = bareMachine();
    await machine.init();
    const key = Buffer.alloc(32, 7).toString("base64");
    const { code, err } = await machine.run(["serve", "--port", "0"], { env: { WEIR_SECRET_KEY: key } });
    expect(code).toBe(1);
    expect(err).toMatch(/^weir: This data directory's secrets are encrypted with .+\n$/);
    expect(err).not.toContain(key);
    const server = await machine.serve();
    expect(await server.end()).toBe(0);
  });

  test("below a base path, the embedded page uses it, compressed too", async () => {
    await using machine = bareMachine();
    const port = String(await freePort());
    const site = `http://127.0.0.1:${port}/weir`;
    const server = machine.start(["serve", "--port", port], { env: { WEIR_BASE_URL: site } });
    const told = await server.line((line) => (line.includes(" listening on ") ? line : null));
    expect(JSON.parse(told)).toMatchObject({
      message: expect.stringMatching(new RegExp(` listening on http://127\\.0\\.0\\.1:${port}$`)),
      baseUrl: site,
    });
    const html = await (await fetch(site)).text();
    expect(html).toContain('data-base="/weir"');
    const files = [...html.matchAll(/(?:src|href)="(\/weir\/assets\/[^"]+\.(?:js|css))"/g)];
    expect(files.length).toBe(2);
    for (const [, path] of files) {
      const get = (encoding: string) =>
        fetch(`http://127.0.0.1:${port}${path}`, {
          headers: { "accept-encoding": encoding },
          decompress: false,
        });
      const [plain, small] = [await get("identity"), await get("br")];
      expect([small.status, small.headers.get("content-encoding")]).toEqual([200, "br"]);
      expect(small.headers.get("etag")).toBe(plain.headers.get("etag"));
      const text = await plain.text();
      expect(text).not.toMatch(/["'`(=]\/assets\//);
      expect(brotliDecompressSync(await small.bytes()).toString()).toBe(text);
    }
    expect(await server.end()).toBe(0);
  }, 120_000);

  test("has everything that it confirmed before kill -9", async () => {
    await using machine = bareMachine();
    const { token, organizationId } = await machine.init();
    const server = await machine.serve({ token });
    const action = await server.call("POST", "/api/v1/actions", {
      kind: "conditional_branch",
      name: "Choose",
      definition: { branches: [{ key: "a", when: "true" }] },
    });
    const config = {
      path: "in",
      secret: "a secret of the test",
      action: {
        kind: "conditional_branch",
        definition: { branches: [{ key: "b", when: "payload.n == 1" }] },
      },
    };
    await server.call("POST", "/api/v1/automations", { name: "In", triggerType: "webhook", config });
    const body = '{"n":1}';
    const reply = await server.call(
      "POST",
      `/webhooks/${organizationId}/in`,
      body,
      stamped(body, config.secret),
    );
    expect(reply.body).toMatchObject({ status: "processed", result: { branch: "b" } });
    await server.end("SIGKILL");

    const again = await machine.serve({ token });
    expect((await again.call("GET", `/api/v1/actions/${action.body.id}`)).body.name).toBe("Choose");
    expect(
      (await again.call("GET", `/api/v1/automation-runs/${reply.body.automationRunId}`)).body.status,
    ).toBe("completed");
    expect((await again.call("GET", "/api/v1/events/verify")).body.valid).toBe(true);
    expect(await again.end()).toBe(0);
  });
});

import { describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { s3Keys, startS3 } from "../support/s3.ts";
import { deepTest, isDeep } from "../support/scale.ts";
import { bareMachine, unshared } from "./executable.ts";

const CONNECTION = {
  name: "Warehouse",
  provider: "postgres",
  config: { host: "127.0.0.1", port: 1, database: "shop" },
  credentials: { user: "ada", password: "password-of-ada" },
};

describe("the executable maintains an installation", () => {
  deepTest(
    "backs it up next to a busy server, wipes it, and restores it with just its key",
    async () => {
      await using machine = bareMachine();
      const { token } = await machine.init();
      // A rate limit that a fast machine doesn't reach, since rates aren't tested here.
      const server = await machine.serve({ token, env: { WEIR_API_RATE: "off" } });
      const gate = await server.call("POST", "/api/v1/actions", {
        kind: "approval_gate",
        name: "Gate",
        definition: { title: "Ship it?" },
      });
      await server.call("POST", `/api/v1/actions/${gate.body.id}/run`);
      expect((await server.call("POST", "/api/v1/connections", CONNECTION)).status).toBe(201);
      let isOver = false;
      let made = 0;
      const load = (async () => {
        for (; !isOver; made++) {
          const name = `Load ${made}`;
          expect((await server.call("POST", "/api/v1/connections", { ...CONNECTION, name })).status).toBe(
            201,
          );
        }
      })();
      const backed = await machine.run(["backup", "weir.tar.zst", "--json"]);
      isOver = true;
      await load;
      expect([backed.code, backed.err]).toEqual([0, ""]);
      expect(made).toBeGreaterThan(0);
      const running = await machine.run(["restore", "weir.tar.zst"]);
      expect(running).toMatchObject({ code: 1, out: "" });
      expect(running.err).toMatch(/^weir: Another Weir server is already using \S+\. Stop it.*\n$/);
      expect((await machine.run(["doctor", "--json"])).lines()[0].ok).toBe(true);
      await server.end();

      const key = readFileSync(join(machine.here, "weir-data/secret.key"));
      rmSync(join(machine.here, "weir-data"), { recursive: true });
      const bare = await machine.run(["restore", "weir.tar.zst"]);
      expect(bare).toMatchObject({ code: 1, out: "" });
      expect(bare.err).toContain("Set --key-file");
      expect(readdirSync(machine.here)).toEqual(["weir.tar.zst"]);

      writeFileSync(join(machine.here, "old.key"), key);
      expect((await machine.run(["backup", "verify", "weir.tar.zst"])).code).toBe(0);
      expect((await machine.run(["restore", "weir.tar.zst", "--key-file", "old.key"])).code).toBe(0);
      expect((await machine.run(["doctor"])).code).toBe(0);
      const again = await machine.serve({ token });
      expect((await again.call("GET", "/api/v1/events/verify")).body.valid).toBe(true);
      expect((await again.call("GET", "/api/v1/decisions/pending")).body.decisions).toHaveLength(1);
      expect((await again.call("GET", "/api/v1/connections/slug/warehouse")).body.hasCredentials).toBe(true);
    },
    120_000,
  );

  deepTest(
    "stops with a sentence without the lake's bucket",
    async () => {
      await using bucket = await startS3();
      bucket.createBucket("lake");
      await using machine = bareMachine();
      const env = {
        WEIR_LAKE_URL: "s3://lake/weir",
        WEIR_LAKE_ENDPOINT: bucket.endpointUrl,
        WEIR_LAKE_ACCESS_KEY_ID: s3Keys.accessKeyId,
        WEIR_LAKE_SECRET_ACCESS_KEY: s3Keys.secretAccessKey,
      };
      await (await machine.serve({ env })).end();
      for (const words of [
        ["doctor"],
        ["doctor", "--json"],
        ["backup", "x.weir"],
        ["serve", "--port", "0"],
      ]) {
        const { code, err } = await machine.run(words);
        expect([words, code, err.split("\n").length]).toEqual([words, 1, 2]);
        expect(err).toContain("lake is at s3://lake/weir, but WEIR_LAKE_URL isn't set.");
      }
      expect((await machine.run(["doctor"], { env })).code).toBe(0);
      const accepted = await machine.run(["config", "accept", "--json"]);
      expect([accepted.code, accepted.lines()[0].lake]).toEqual([0, null]);
      await (await machine.serve()).end();
    },
    120_000,
  );

  deepTest(
    "exports and applies configuration, with secrets from its environment",
    async () => {
      await using machine = bareMachine();
      const { token } = await machine.init();
      const server = await machine.serve({ token });
      const env = { WEIR_SERVER: server.origin };
      expect((await machine.run(["login", "--token"], { env, stdin: token })).code).toBe(0);
      expect((await server.call("POST", "/api/v1/connections", CONNECTION)).status).toBe(201);
      const written = await machine.run(["export"], { env });
      expect([written.code, written.err]).toEqual([0, ""]);
      expect(written.out).toContain(`password: \${WAREHOUSE_PASSWORD}`);
      expect(written.out).not.toContain("password-of-ada");
      const text = written.out
        .replace("slug: warehouse", "slug: cellar")
        .replace("name: Warehouse", "name: Cellar");
      const given = { ...env, WAREHOUSE_PASSWORD: "of-ada", WAREHOUSE_USER: "ada" };
      const lacking = await machine.run(["apply", "-f", "-"], { env, stdin: text });
      expect(lacking).toMatchObject({ code: 1, out: "" });
      expect(lacking.err).toContain("WAREHOUSE_USER isn't set");
      const applied = await machine.run(["apply", "-f", "-", "--yes", "--json"], { env: given, stdin: text });
      expect(applied.err).toBe("");
      expect(applied.lines()[0].plan).toEqual([
        { kind: "connection", slug: "cellar", operation: "create", changes: [] },
      ]);
      expect((await server.call("GET", "/api/v1/connections/slug/cellar")).body.hasCredentials).toBe(true);
      expect((await machine.run(["export"])).code).toBe(0); // The last server signed in to.
    },
    120_000,
  );

  const sealed = unshared(
    ["--mount"],
    `mount --bind "$1" /mnt && mount -o remount,ro,bind / && mount -o remount,ro,bind "$(df --output=target "$1" | tail -1)" && shift`,
  );
  test.skipIf(sealed === null || !isDeep)(
    "writes only to its data directory",
    async () => {
      await using machine = bareMachine();
      const folder = join(machine.here, "data");
      mkdirSync(folder);
      const through = sealed?.(folder) ?? [];
      const elsewhere = await machine.run(["demo", "--once"], { through });
      expect([elsewhere.code, elsewhere.err]).toEqual([1, expect.stringContaining("EROFS")]);
      expect(await machine.run(["demo", "--once", "--data", "/mnt"], { through })).toMatchObject({
        code: 0,
        err: "",
      });
    },
    120_000,
  );

  const small = unshared(["--mount"], 'mount -t tmpfs -o size=64m none "$1" && shift');
  test.skipIf(small === null)("reports a disk that is nearly full, and exits with 1", async () => {
    await using machine = bareMachine();
    const folder = join(machine.here, "data");
    mkdirSync(folder);
    const { code, out } = await machine.run(["doctor", "--data", folder, "--json"], {
      through: small?.(folder) ?? [],
    });
    expect(code).toBe(1);
    const { findings } = JSON.parse(out);
    const disk = findings.find(({ check }: { check: string }) => check === "disk");
    expect(disk).toMatchObject({ ok: false, remedy: expect.stringContaining("Free up disk space") });
  });
});

import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { operations } from "../../src/server.ts";
import { startApp } from "../support/app.ts";
import { NOBODY } from "../support/work.ts";

/** As programs request it; a browser that accepts HTML gets the admin page at any path. */
const PROGRAM = { accept: "*/*" };

test.each([
  "/.git/config",
  "/.git/HEAD",
  "/.svn/entries",
  "/.hg/hgrc",
  "/.env",
  "/package.json",
  "/bun.lock",
  "/src/main.ts",
  "/weir.toml",
  "/weir.db",
  "/secret.key",
  "/assets/../secret.key",
  "/assets/..%2fsecret.key",
])("%s isn't found: neither sources nor the data directory's content is served", async (path) => {
  await using app = await startApp({ engine: false });
  for (const call of [app.anonymous, app.owner]) {
    const { status, body } = await call("GET", path, undefined, PROGRAM);
    expect([status, body.code]).toEqual([404, "not_found"]);
  }
});

test("no folder is listed", async () => {
  await using app = await startApp({ engine: false });
  const folders = [
    "assets",
    "files",
    "lake",
    "backups",
    "sign-in",
    "webhooks",
    "api",
    "api/v1",
    "work",
    ".git",
  ];
  for (const name of folders) {
    mkdirSync(join(app.dataFolder, name), { recursive: true });
    writeFileSync(join(app.dataFolder, name, "found-in-a-list.txt"), "x");
  }
  for (const path of folders.flatMap((name) => [`/${name}/`, `/${name}`, `/${name}/.`, `/${name}//`])) {
    const { status, text } = await app.owner("GET", path, undefined, PROGRAM);
    expect([path, status, text.includes("found-in-a-list")]).toEqual([path, 404, false]);
  }
});

/** Stack frames, internal paths, statements and the database's own words. */
const INTERNALS =
  /\bat \S+ \(|node_modules|\.ts\b|\/src\/|\bselect\b .*\bfrom\b|sqlite|drizzle|libsql|duckdb/i;

test("an unexpected error reveals nothing internal, with debug logging too", async () => {
  await using app = await startApp({ engine: false, env: { WEIR_LOG: "debug" } });
  const { owner } = app;
  const session = await owner("GET", "/api/v1/users/me");
  expect(session.status).toBe(200);
  await app.app.store.close();
  let failed = 0;
  for (const { method, path, audience, query } of operations) {
    if (method !== "GET" || ["public", "signature"].includes(audience) || (query?.required ?? []).length > 0)
      continue;
    const { status, text, body } = await owner("GET", path.replace(/\{\w+\}/g, NOBODY));
    expect([path, INTERNALS.test(text)]).toEqual([path, false]);
    if (status !== 500) continue;
    failed++;
    if (path.startsWith("/iceberg/")) {
      expect(Object.keys(body)).toEqual(["error"]); // That protocol's own shape.
      continue;
    }
    expect(Object.keys(body).sort()).toEqual(["code", "correlationId", "detail"]);
    expect(body.code).toBe("internal");
  }
  expect(failed).toBeGreaterThan(30);
});

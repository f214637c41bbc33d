import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { memberships, organizations } from "../../src/resources/organizations/table.ts";
import { slackLinks } from "../../src/resources/slack/table.ts";
import { users } from "../../src/resources/users/table.ts";
import { migrations } from "../../src/store/migrations.ts";
import { localPlace, MIGRATIONS, notes, thrownBy } from "./harness.ts";

const SOON = { name: "0003_soon", sql: "ALTER TABLE notes ADD COLUMN soon TEXT;" };

test("every migration in the folder is applied, in the order of their numbers", () => {
  const files = readdirSync(join(import.meta.dir, "../../migrations"));
  expect(migrations.map(({ name }) => `${name}.sql`)).toEqual(files.sort());
});

test("Slack links of people who are no longer members are deleted", async () => {
  await using place = localPlace();
  const before = migrations.slice(
    0,
    migrations.findIndex(({ name }) => name === "0091_slack_links"),
  );
  const old = await place.open(before);
  const at = { createdAt: "", updatedAt: "" };
  await old.write(async (db) => {
    await db.insert(organizations).values({
      id: "acme",
      name: "Acme",
      slug: "acme",
      plan: "free",
      requireFourEyes: false,
      ...at,
    });
    for (const id of ["ann", "bob"]) {
      await db.insert(users).values({ id, email: id, isOperator: false, ...at });
      const link = { teamId: "team", slackUserId: id, userId: id, organizationId: "acme", createdAt: "" };
      await db.insert(slackLinks).values(link);
    }
    const member = { id: "m", organizationId: "acme", userId: "ann", isDefault: true, joinedAt: "" };
    await db.insert(memberships).values({ ...member, role: "member" });
  });
  await old.close();
  const store = await place.open(migrations);
  expect(await store.db.select({ userId: slackLinks.userId }).from(slackLinks)).toEqual([{ userId: "ann" }]);
  await store.close();
});

test("if one of several migrations fails, none is kept, and the previous version starts", async () => {
  await using place = localPlace();
  await (await place.open()).close();
  const broken = { name: "0004_broken", sql: "CREATE TABLE notes (id TEXT) STRICT;" };
  const thrown = await thrownBy(() => place.open([...MIGRATIONS, SOON, broken]));
  expect((thrown as Error).message).toStartWith("Migration 0004_broken failed and was rolled back");
  const store = await place.open();
  expect(await store.db.$count(notes)).toBe(0);
  await store.close();
});

test("the copy of a database that is migrated is reported", async () => {
  await using place = localPlace();
  const told: string[] = [];
  const onCopy = (path: string) => told.push(path);
  await (await place.open(MIGRATIONS, { onCopy })).close();
  expect(told).toEqual([]);
  await (await place.open([...MIGRATIONS, SOON], { onCopy })).close();
  expect(told).toEqual([join(place.backups, readdirSync(place.backups)[0] ?? "")]);
  expect(told[0]).toMatch(/before-0003_soon-.+\.db$/);
});

test("a process that is killed during a migration leaves the database unchanged", async () => {
  await using place = localPlace();
  const before = await place.open();
  await before.write(async (db) => {
    await db.insert(notes).values({ id: "kept" });
  });
  await before.close();
  // A million rows, and then forever: its end is never reached.
  const endless = {
    name: "0004_endless",
    sql: `CREATE TABLE many (n INTEGER) STRICT;
--> statement-breakpoint
INSERT INTO many WITH RECURSIVE count(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM count) SELECT n FROM count;`,
  };
  const script = `import { openStore } from ${JSON.stringify(join(import.meta.dir, "../../src/store/store.ts"))};
await openStore(${JSON.stringify({ path: place.path, backupsFolder: place.backups, migrations: [...MIGRATIONS, SOON, endless] })});`;
  const child = Bun.spawn([process.execPath, "-e", script], { stdout: "ignore", stderr: "inherit" });
  const wal = `${place.path}-wal`;
  // Pages spill into the WAL once the cache is full: then it is in the middle.
  while (child.exitCode === null && (!existsSync(wal) || Bun.file(wal).size < 8 << 20)) await Bun.sleep(5);
  child.kill("SIGKILL");
  expect(await child.exited).not.toBe(0);

  const store = await place.open();
  expect(await store.db.select({ id: notes.id }).from(notes)).toEqual([{ id: "kept" }]);
  await store.close();
  using copy = new Database(join(place.backups, readdirSync(place.backups)[0] ?? ""), { readonly: true });
  expect(copy.query("SELECT id FROM notes").values()).toEqual([["kept"]]);
});

import { and, asc, eq, getTableColumns, type SQL, sql } from "drizzle-orm";
import type { App } from "../context.ts";
import { keyIdIn } from "../crypto/secretbox.ts";
import { readHeadFile, writeHeadFile } from "../resources/events/head-file.ts";
import { authenticateAgain } from "../resources/events/seals.ts";
import type { WriteDb } from "../store/store.ts";
import { beginChange, endChange } from "./keys.ts";
import type { Loop } from "./loop.ts";
import { SEALED, type SealedColumn } from "./sealed.ts";

/** Number of rows checked per step and re-encrypted per transaction. */
const BATCH = 200;

/** Re-encrypts everything when the master key is rotated, in small steps, while requests continue. */
export function rekeyer(app: App): Loop {
  let under: AsyncGenerator<void> | null = null;
  let isOver = false;
  return {
    name: "rekeyer",
    async tick() {
      if (isOver) app.secrets.retire(); // one round later: running work that read a row before may still need the old key
      isOver = false;
      if (under === null) {
        if (!(await beginChange(app))) return "idle";
        under = rekey(app);
      }
      try {
        if (!(await under.next()).done) return "more";
      } catch (error) {
        under = null; // a later round starts again, and finds less to do
        throw error;
      }
      under = null;
      isOver = true;
      return "idle";
    },
  };
}

/** Rotates the master key immediately, without a running server. Returns the ID of the new key. */
export async function changeKeyNow(app: App): Promise<string> {
  if (await beginChange(app)) {
    for await (const _ of rekey(app));
    app.secrets.retire();
  }
  return app.secrets.keyId;
}

/**
 * Re-encrypts with the new key everything encrypted with another, and ends the rotation. Each `yield` ends one small
 * step, after which the process may be killed. Repeats until a round finds nothing: work that was running when the
 * key changed may have encrypted data before and stored it since.
 */
export async function* rekey(app: App): AsyncGenerator<void> {
  const unreadable = new Set<string>();
  for (let round = 1, found = 0; round <= 2 || found > 0; round++) {
    found = 0;
    for (const column of SEALED) {
      for (let after: Key | null = null; ; ) {
        const rows: Row[] = await rowsAfter(app, column, after);
        const stale = rows.filter(({ head, key }) => isStale(app, head) && !unreadable.has(nameOf(key)));
        if (stale.length > 0) found += await sealAgain(app, column, stale, unreadable);
        yield;
        const last: Row | undefined = rows.at(-1);
        if (!last || rows.length < BATCH) break;
        after = last.key;
      }
    }
    found += yield* authenticateAgain(app);
  }
  keepHeadFile(app);
  await endChange(app);
}

/** Authenticates the file next to the database with the new key. */
function keepHeadFile({ config, secrets, store }: App): void {
  const kept = store.remote ? null : readHeadFile(config.dataFolder, secrets);
  if (kept !== null) writeHeadFile(config.dataFolder, secrets, kept);
}

/** The columns of a row's primary key. */
type Key = readonly string[];

interface Row {
  key: Key;
  /** The prefix of its encrypted text, which names the key. */
  head: string;
}

const nameOf = (key: Key) => key.join("/");

const isStale = ({ secrets }: App, text: string) => ![null, secrets.keyId].includes(keyIdIn(text));

/** The next rows by primary key, which needs no additional index. */
async function rowsAfter(app: App, { table, column, primaryKey }: SealedColumn, after: Key | null) {
  const tuple = (items: readonly unknown[]) =>
    sql`(${sql.join(
      items.map((item) => sql`${item}`),
      sql`, `,
    )})`;
  const fields = Object.fromEntries(primaryKey.map((one, at) => [`p${at}`, one]));
  const rows = await app.store.db
    .select({ ...fields, head: sql<string>`coalesce(substr(${column}, 1, 24), '')` })
    .from(table)
    .where(after === null ? undefined : sql`${tuple(primaryKey)} > ${tuple(after)}`)
    .orderBy(...primaryKey.map((one) => asc(one)))
    .limit(BATCH);
  return rows.map(({ head, ...at }) => ({
    head,
    key: primaryKey.map((_, index) => String((at as Record<string, unknown>)[`p${index}`])),
  }));
}

/** Returns how many of `rows` were re-encrypted. What can't be decrypted is kept and reported. */
function sealAgain(app: App, column: SealedColumn, rows: readonly Row[], unreadable: Set<string>) {
  return app.store.write(async (db) => {
    let count = 0;
    // overwritten text must not remain in the file, where the old key could decrypt it
    if (!app.store.remote) await db.run(sql`pragma secure_delete = on`);
    for (const { key } of rows) if (await sealOneAgain(app, db, column, key, unreadable)) count++;
    if (!app.store.remote) await db.run(sql`pragma secure_delete = off`);
    return count;
  });
}

async function sealOneAgain(
  app: App,
  db: WriteDb,
  { table, column, name, primaryKey, facts, label }: SealedColumn,
  key: Key,
  unreadable: Set<string>,
): Promise<boolean> {
  const here: SQL | undefined = and(...primaryKey.map((one, at) => eq(one, key[at])));
  const [row] = await db
    .select({ ...facts, text: sql<string | null>`${column}` })
    .from(table)
    .where(here);
  if (!row?.text || !isStale(app, row.text)) return false;
  const own = label(row as unknown as Record<string, string>);
  let plain: string;
  try {
    plain = app.secrets.open(row.text, own);
  } catch (error) {
    unreadable.add(nameOf(key));
    app.log.report(error, { at: "re-encrypt a secret", column: name, row: nameOf(key) });
    return false;
  }
  const [field = ""] = Object.entries(getTableColumns(table)).find(([, one]) => one === column) ?? [];
  await db
    .update(table)
    .set({ [field]: app.secrets.seal(plain, own) })
    .where(here);
  return true;
}

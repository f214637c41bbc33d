import { AppError, InvalidInput } from "../base/errors.ts";
import type { MovedColumn, Side } from "./move-sides.ts";

/** Number of rows to read at a time. */
const PAGE = 200;
/** Not copied: processes and their last commits are temporary, and the others belong to the schema. */
const STAYS = ["processes", "last_commits", "migrations"];

interface Table {
  name: string;
  columns: MovedColumn[];
  key: readonly string[];
}

/** Count and hash of one moved table. */
export interface Moved {
  table: string;
  rows: number;
}

/**
 * Copies all rows within the target's transaction, and compares counts and SHA-256 hashes of each table on both
 * sides. Throws `invalid_state` if the target isn't empty, the schemas differ, or the copy doesn't match.
 */
export async function moveRows(from: Side, to: Side, onTable: (table: string) => void): Promise<Moved[]> {
  await refuseOtherSchema(from, to);
  const tables = await tablesOf(from, from.isPostgres ? to : from);
  const names = tables.map(({ name }) => name);
  for (const name of names) await refuseFilled(to, name);
  await to.begin(names);
  const moved: Moved[] = [];
  for (const table of tables) {
    onTable(table.name);
    moved.push(await moveTable(from, to, table));
  }
  await to.finish(names);
  return moved;
}

async function refuseOtherSchema(from: Side, to: Side): Promise<void> {
  const migrations = async ({ rows }: Side) =>
    JSON.stringify(await rows("SELECT name, hash FROM migrations ORDER BY name"));
  if ((await migrations(from)) === (await migrations(to))) return;
  throw new AppError(
    "invalid_state",
    "The database to move was made by another version of Weir. Start this version on it once, stop it, and try again.",
  );
}

async function refuseFilled({ rows }: Side, table: string): Promise<void> {
  if ((await rows(`SELECT 1 FROM ${table} LIMIT 1`)).length === 0) return;
  throw new AppError(
    "invalid_state",
    `The target isn't empty: its table ${table} has rows. Use a new database.`,
  );
}

/** The tables, with referenced ones before those that refer to them. `file` knows the references. */
async function tablesOf(from: Side, file: Side): Promise<Table[]> {
  const found = await from.rows("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name");
  const names = found
    .map(([name]) => String(name))
    .filter((name) => !STAYS.includes(name) && !/^sqlite_/.test(name));
  const order: string[] = [];
  const visit = async (name: string): Promise<void> => {
    if (order.includes(name)) return;
    const others = await file.rows(`SELECT "table" FROM pragma_foreign_key_list('${name}')`);
    for (const [other] of others) if (other !== name) await visit(String(other));
    order.push(name);
  };
  for (const name of names) await visit(name);
  return Promise.all(order.map((name) => tableOf(from, name)));
}

/** For a table without a primary key: columns that are never null and identify a row. */
const KEYS: Readonly<Record<string, readonly string[]>> = {
  automation_run_items: ["automation_run_id", "step_key", "item_index"],
};

async function tableOf({ rows }: Side, name: string): Promise<Table> {
  const columns = await rows(`SELECT name, type, pk FROM pragma_table_info('${name}')`);
  return {
    name,
    columns: columns.map(([column, type]) => ({ name: String(column), type: typeOf(String(type)) })),
    key:
      KEYS[name] ??
      columns
        .filter(([, , pk]) => Number(pk) > 0)
        .sort((a, b) => Number(a[2]) - Number(b[2]))
        .map(([column]) => String(column)),
  };
}

const typeOf = (type: string) =>
  ({ INTEGER: "bigint", REAL: "double precision", TEXT: "text" })[type] ?? type;

async function moveTable(from: Side, to: Side, table: Table): Promise<Moved> {
  const sent = digest();
  for await (const rows of pagesOf(from, table)) {
    sent.add(rows);
    try {
      await to.insert(table.name, table.columns, rows);
    } catch (error) {
      throw error instanceof InvalidInput
        ? new AppError(
            "invalid_state",
            `A text in table ${table.name} is too long for an index of PostgreSQL.`,
          )
        : error;
    }
  }
  const there = digest();
  for await (const page of pagesOf(to, table)) there.add(page);
  const [one, two] = [sent.end(), there.end()];
  if (one.rows !== two.rows || one.hash !== two.hash)
    throw new AppError(
      "invalid_state",
      `Table ${table.name} differs after the copy: ${one.rows} rows (${one.hash}) became ${two.rows} (${two.hash}). Nothing was moved.`,
    );
  return { table: table.name, rows: one.rows };
}

async function* pagesOf({ rows }: Side, { name, columns, key }: Table): AsyncGenerator<unknown[][]> {
  const quoted = (names: readonly string[]) => names.map((one) => `"${one}"`).join(", ");
  const all = `SELECT ${quoted(columns.map((one) => one.name))} FROM ${name}`;
  const places = key.map((column) => columns.findIndex((one) => one.name === column));
  for (let after: unknown[] | null = null; ; ) {
    const next = after === null ? "" : `WHERE (${quoted(key)}) > (${key.map(() => "?").join(", ")})`;
    const page: unknown[][] = await rows(`${all} ${next} ORDER BY ${quoted(key)} LIMIT ${PAGE}`, after ?? []);
    if (page.length > 0) yield page;
    const last = page.at(-1);
    if (!last || page.length < PAGE) return;
    after = places.map((place) => last[place]);
  }
}

function digest() {
  const hasher = new Bun.CryptoHasher("sha256");
  let count = 0;
  return {
    add(rows: readonly unknown[][]) {
      count += rows.length;
      for (const row of rows) hasher.update(`${JSON.stringify(row)}\n`);
    },
    end: () => ({ rows: count, hash: hasher.digest("hex").slice(0, 16) }),
  };
}

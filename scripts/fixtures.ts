/**
 * Creates the stored databases of `test/store/fixtures`: one for each schema version, with rows in every table,
 * which `test/store/fixtures.test.ts` migrates to the newest. `bun scripts/fixtures.ts [last]` creates missing ones,
 * up to the migration `last`. An existing one was created by a released version, and is never replaced.
 */
import { Database } from "bun:sqlite";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { zstdCompressSync } from "node:zlib";
import { systemClock } from "../src/base/clock.ts";
import { canonicalJson } from "../src/base/json.ts";
import { chainHash } from "../src/resources/events/service.ts";
import { GENESIS } from "../src/resources/events/table.ts";
import { migrations } from "../src/store/migrations.ts";
import { openStore } from "../src/store/store.ts";

const FOLDER = join(import.meta.dir, "../test/store/fixtures");
const MADE_AT = "2026-01-02T03:04:05.678Z";
/** Number of rows per table. The last one belongs to a second organization. */
const ROWS = 3;
/** Filled by triggers, by the chain of events, or by the migrations themselves. */
const NOT_FILLED = new Set(["migrations", "counts", "events"]);

type Value = string | number | null;

interface Column {
  name: string;
  type: string;
  notnull: number;
  dflt_value: string | null;
}

/** Values with constraints that the schema doesn't show. */
const VALUES: Readonly<Record<string, (n: number) => Value>> = {
  "lake_files.load_id": (n) => idOf("lake_loads", n),
  "lake_files.removed_at": () => null,
  "lake_tables.columns": () => '[{"name":"id","type":"BIGINT"}]',
  "automations.webhook_path": (n) => `path-${n}`,
  "actions.deleted_at": () => null,
  "automations.deleted_at": () => null,
  "webhooks.deleted_at": () => null,
  "action_runs.status": (n) => ["pending", "completed", "failed"][n] ?? "completed",
  "action_runs.statuses": () => "[]",
  "action_runs.due_at": (n) => (n === 0 ? MADE_AT : null),
  "llm_usage.day": (n) => `2026-01-0${n + 1}`,
  "templates.status": (n) => (n === 0 ? "draft" : "published"),
};

/** Names of columns with JSON. */
const JSON_NAMES =
  /^(actor|body|components|config|context|data|definition|error|events|form_\w+|frontmatter|headers|input|input_\w+|item|pending|progress|query|raw_data|reply|result|scope|steps|tables|usage)$/;

const idOf = (table: string, n: number): string => {
  const hex = new Bun.CryptoHasher("sha256").update(`${table} ${n}`).digest("hex");
  return `019b0000-${hex.slice(0, 4)}-7${hex.slice(4, 7)}-8${hex.slice(7, 10)}-${hex.slice(10, 22)}`;
};
const organizationOf = (n: number) => idOf("organizations", n === ROWS - 1 ? 1 : 0);

function madeUp(db: Database, table: string, { name, type }: Column, n: number): Value {
  const own = VALUES[`${table}.${name}`];
  if (own) return own(n);
  if (name === "id") return idOf(table, n);
  if (name === "organization_id") return organizationOf(n);
  if (type === "REAL") return n + 0.5;
  if (type === "INTEGER") return name.startsWith("is_") || name === "enabled" ? n % 2 : n + 1;
  if (/(_at|_until|^since|^at|expires)$/.test(name)) return MADE_AT;
  const [, noun] = /^(\w+)_id$/.exec(name) ?? [];
  if (noun !== undefined && isTable(db, `${noun}s`)) return idOf(`${noun}s`, n);
  if (noun !== undefined) return idOf(noun, n);
  if (JSON_NAMES.test(name)) return `{"row":${n},"text":"für ${table}"}`;
  return `${name} ${n}`;
}

const isTable = (db: Database, name: string) =>
  db.query("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?").get(name) !== null;

function fill(db: Database): void {
  // Tables aren't filled in the order of their references, which are checked below.
  db.run("PRAGMA foreign_keys = OFF");
  const tables = db
    .query<{ name: string }, []>(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
    )
    .all();
  for (const { name } of tables.filter((table) => !NOT_FILLED.has(table.name))) {
    const columns = db.query<Column, [string]>("SELECT * FROM pragma_table_info(?)").all(name);
    const parents = db
      .query<{ table: string; from: string }, [string]>(
        'SELECT "table", "from" FROM pragma_foreign_key_list(?)',
      )
      .all(name);
    const parentOf = new Map(parents.map((one) => [one.from, one.table]));
    const insert = db.prepare(
      `INSERT INTO ${name} (${columns.map((column) => `"${column.name}"`).join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`,
    );
    for (let n = 0; n < ROWS; n++) {
      const values = columns.map((column): Value => {
        if (column.name === "organization_id") return organizationOf(n);
        const parent = parentOf.get(column.name);
        return parent === undefined ? madeUp(db, name, column, n) : idOf(parent, n);
      });
      insert.run(...values);
    }
    insert.finalize();
  }
  fillTrail(db);
  const broken = db.query("PRAGMA foreign_key_check").all();
  if (broken.length > 0) throw new Error(`The rows do not fit together: ${JSON.stringify(broken[0])}`);
}

/** Inserts a chain of events for each organization, as the program does. */
function fillTrail(db: Database): void {
  const heads = new Map<string, string>();
  const insert =
    db.prepare(`INSERT INTO events (id, organization_id, type, timestamp, entity_type, entity_id, actor_type,
    actor_id, actor, data, correlation_id, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  for (let n = 0; n < 3 * ROWS; n++) {
    const organizationId = organizationOf(n % ROWS);
    const row = {
      id: idOf("events", n),
      organizationId,
      type: "connection.updated" as const,
      timestamp: MADE_AT,
      entityType: "connection",
      entityId: idOf("connections", n % ROWS),
      actorType: "user",
      actorId: idOf("users", 0),
      actor: { email: "ada@example.com" },
      data: { changes: { name: { from: "Läden", to: `shop ${n}` } } },
      correlationId: idOf("correlations", n),
    };
    const hash = chainHash(heads.get(organizationId) ?? GENESIS, row);
    heads.set(organizationId, hash);
    const { actor, data, correlationId, ...first } = row;
    insert.run(...Object.values(first), canonicalJson(actor), canonicalJson(data), correlationId, hash);
  }
  insert.finalize();
}

async function make(count: number, name: string): Promise<Uint8Array> {
  const folder = mkdtempSync(join(tmpdir(), "weir-fixture-"));
  try {
    const path = join(folder, "weir.db");
    const clock = { ...systemClock, now: () => new Date(MADE_AT) };
    const known = migrations.slice(0, count);
    await (
      await openStore({ path, migrations: known, backupsFolder: join(folder, "backups"), clock })
    ).close();
    const db = new Database(path, { readwrite: true });
    fill(db);
    const packed = join(folder, `${name}.db`);
    db.run("VACUUM INTO ?", [packed]);
    db.close();
    return zstdCompressSync(readFileSync(packed));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const [last] = process.argv.slice(2);
mkdirSync(FOLDER, { recursive: true });
for (const [at, { name }] of migrations.entries()) {
  const path = join(FOLDER, `${name}.db.zst`);
  if (!existsSync(path)) {
    writeFileSync(path, await make(at + 1, name), { flag: "wx" });
    console.log(`${name}: made`);
  }
  if (name === last) break;
}

import { type Clock, timestamp } from "../base/clock.ts";
import { AppError } from "../base/errors.ts";

export interface Migration {
  /** Such as `0001_init`. */
  readonly name: string;
  /** Statements separated by `--> statement-breakpoint`. Never edited once released. */
  readonly sql: string;
}

/** Runs statements one by one. */
export interface Runner {
  execute(sql: string, args?: string[]): Promise<void>;
  rows(sql: string): Promise<unknown[][]>;
}

/** A connection that migrations run on. */
export interface MigrationTarget extends Runner {
  /**
   * True if all missing migrations run in one transaction. Otherwise each has its own, since a server ends long
   * transactions.
   */
  readonly isLocal: boolean;
  /** Atomic, with no other writer at the same time. */
  transaction(work: (runner: Runner) => Promise<void>): Promise<void>;
}

export interface MigrateOptions {
  migrations: readonly Migration[];
  clock: Clock;
  /** Runs before the first missing migration, unless the database is new. */
  beforeFirst?: (next: Migration) => Promise<void>;
}

const NAMES = "SELECT name, hash FROM migrations";

/**
 * Applies missing migrations, in order. On a local file all or none: if one fails or the process is killed, the
 * previous version can still open it.
 *
 * Throws `unavailable` if the database has a migration that this version doesn't know or knows with another text,
 * and if one fails. A failed migration changes nothing.
 */
export async function migrate(target: MigrationTarget, options: MigrateOptions): Promise<void> {
  const { migrations, clock } = options;
  await target.execute(
    "CREATE TABLE IF NOT EXISTS migrations (name TEXT PRIMARY KEY, hash TEXT NOT NULL, applied_at TEXT NOT NULL) STRICT",
  );
  const done = await appliedOf(target);
  refuseNewer(done, migrations);
  refuseChanged(done, migrations);

  const missing = migrations.filter(({ name }) => !done.has(name));
  const [first] = missing;
  if (first && done.size > 0) await options.beforeFirst?.(first);

  const groups = target.isLocal ? [missing] : missing.map((migration) => [migration]);
  for (const group of groups) if (group.length > 0) await apply(target, group, clock);
}

async function apply(target: MigrationTarget, group: readonly Migration[], clock: Clock): Promise<void> {
  let current = group[0]?.name ?? "";
  try {
    await target.transaction(async ({ execute, rows }) => {
      const applied = new Set((await rows(NAMES)).map(([name]) => String(name)));
      for (const migration of group) {
        current = migration.name;
        if (applied.has(current)) continue; // another process was faster
        for (const statement of migration.sql.split("--> statement-breakpoint")) {
          if (statement.trim() !== "") await execute(statement);
        }
        await execute("INSERT INTO migrations (name, hash, applied_at) VALUES (?, ?, ?)", [
          current,
          hashOf(migration),
          timestamp(clock),
        ]);
      }
    });
  } catch (cause) {
    if (cause instanceof AppError && cause.code !== "internal") throw cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new AppError("unavailable", `Migration ${current} failed and was rolled back: ${reason}`, {
      cause,
    });
  }
}

async function appliedOf(target: MigrationTarget): Promise<Map<string, string>> {
  const rows = await target.rows(NAMES);
  return new Map(rows.map(([name, hash]) => [String(name), String(hash)]));
}

function refuseNewer(done: ReadonlyMap<string, string>, migrations: readonly Migration[]): void {
  const known = new Set(migrations.map(({ name }) => name));
  const newer = [...done.keys()].filter((name) => !known.has(name)).sort();
  if (newer.length === 0) return;
  throw new AppError(
    "unavailable",
    `This database was created by a newer version of Weir (migrations: ${newer.join(", ")}). Use that version, or restore a backup.`,
  );
}

function refuseChanged(done: ReadonlyMap<string, string>, migrations: readonly Migration[]): void {
  const changed = migrations.filter(
    (migration) => (done.get(migration.name) ?? hashOf(migration)) !== hashOf(migration),
  );
  if (changed.length === 0) return;
  const names = changed.map(({ name }) => name).join(", ");
  throw new AppError(
    "unavailable",
    `This database was created with different migrations ${names}. Use the version that created it, or restore a backup.`,
  );
}

/** Ignores line endings, so that a checkout on another system has the same migrations. */
const hashOf = ({ sql }: Migration): string =>
  new Bun.CryptoHasher("sha256").update(sql.replaceAll("\r\n", "\n").trim()).digest("hex");

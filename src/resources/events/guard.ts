import { sql } from "drizzle-orm";
import { isSameTrigger } from "../../store/schema.ts";
import type { ReadDb, Store } from "../../store/store.ts";

/** The triggers that protect events from changes, as the migrations create them. */
const TRIGGERS: Readonly<Record<string, string>> = {
  events_no_update:
    "CREATE TRIGGER events_no_update BEFORE UPDATE ON events WHEN NEW.redacted_at IS NULL OR NEW.seq <> OLD.seq OR NEW.hash <> OLD.hash OR NOT EXISTS (SELECT 1 FROM trail_erasures t WHERE t.organization_id = OLD.organization_id) BEGIN SELECT RAISE(ABORT, 'events are append-only'); END",
  events_no_delete:
    "CREATE TRIGGER events_no_delete BEFORE DELETE ON events WHEN NOT EXISTS (SELECT 1 FROM trail_erasures t WHERE t.organization_id = OLD.organization_id) BEGIN SELECT RAISE(ABORT, 'events are append-only'); END",
  events_no_replace:
    "CREATE TRIGGER events_no_replace BEFORE INSERT ON events WHEN NEW.seq > 0 AND EXISTS (SELECT 1 FROM events e WHERE e.seq = NEW.seq) BEGIN SELECT RAISE(ABORT, 'events are append-only'); END",
};

/** Returns the triggers of the audit log that were removed or changed. */
export async function missingTriggers(db: ReadDb): Promise<string[]> {
  const rows = await db.all<{ name: string; sql: string }>(
    sql`SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'events'`,
  );
  const found = new Map(rows.map((row) => [row.name, row.sql]));
  return Object.entries(TRIGGERS).flatMap(([name, text]) =>
    isSameTrigger(text, found.get(name)) ? [] : [name],
  );
}

/** Restores missing triggers, and returns their names. */
export async function restoreTriggers(store: Store): Promise<string[]> {
  const missing = await missingTriggers(store.db);
  if (missing.length === 0) return missing;
  await store.write(async (db) => {
    for (const name of missing) {
      await db.run(sql.raw(`DROP TRIGGER IF EXISTS ${name}`));
      await db.run(sql.raw(TRIGGERS[name] ?? ""));
    }
  });
  return missing;
}

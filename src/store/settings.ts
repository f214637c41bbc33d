import { eq } from "drizzle-orm";
import { sqliteTable, text } from "drizzle-orm/sqlite-core";
import { ConfigError } from "../base/config-error.ts";
import type { Ids } from "../base/ids.ts";
import type { ReadDb, Store } from "./store.ts";

/** Settings of the installation, such as the ID of its master key. */
export const settings = sqliteTable("settings", {
  key: text().primaryKey(),
  value: text().notNull(),
});

const INSTALLATION = "installation_id";

/** Permanent ID of this installation. Generated on first use. */
export function installationId(store: Store, ids: Ids): Promise<string> {
  return store.write(async (db) => {
    await db.insert(settings).values({ key: INSTALLATION, value: ids.uuid() }).onConflictDoNothing();
    const [row] = await db.select().from(settings).where(eq(settings.key, INSTALLATION));
    return row?.value ?? "";
  });
}

/** The setting of a database that was moved: its new location. */
export const MOVED_TO = "moved_to";

/** Throws `ConfigError` for a database that was moved. */
export async function refuseMoved(db: ReadDb): Promise<void> {
  const [row] = await db.select().from(settings).where(eq(settings.key, MOVED_TO));
  if (row)
    throw new ConfigError(
      `This database was moved to ${row.value}. Set WEIR_DATABASE_URL or --data to use it there.`,
    );
}

import { eq } from "drizzle-orm";
import { sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { Ids } from "../base/ids.ts";
import type { Store } from "./store.ts";

/** Facts about the installation, such as the key that its secrets are encrypted with. */
export const settings = sqliteTable("settings", {
  key: text().primaryKey(),
  value: text().notNull(),
});

const INSTALLATION = "installation_id";

/** Permanent ID of this installation, created when first needed. */
export function installationId(store: Store, ids: Ids): Promise<string> {
  return store.write(async (db) => {
    await db.insert(settings).values({ key: INSTALLATION, value: ids.uuid() }).onConflictDoNothing();
    const [row] = await db.select().from(settings).where(eq(settings.key, INSTALLATION));
    return row?.value ?? "";
  });
}

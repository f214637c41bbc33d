import { eq } from "drizzle-orm";
import type { App } from "../context.ts";
import { restoreTriggers } from "../resources/events/guard.ts";
import { readHeadFile } from "../resources/events/head-file.ts";
import { makeHeads } from "../resources/events/seals.ts";
import { settings } from "../store/settings.ts";

const KEEPS_HEADS = "trail_heads";

/**
 * Prepares the audit log for its first event: recreates missing triggers, and computes the heads once for a database
 * of a version that had none.
 */
export async function openTrail(
  parts: Pick<App, "store" | "clock" | "secrets" | "log">,
  dataFolder: string,
): Promise<void> {
  const { store, secrets, log } = parts;
  for (const trigger of await restoreTriggers(store))
    log.write("warn", "trigger protecting the audit log was missing; recreated", { trigger });
  const [known] = await store.db.select().from(settings).where(eq(settings.key, KEEPS_HEADS));
  if (known) return;
  if (!store.remote && readHeadFile(dataFolder, secrets) !== null) return; // an older copy of the database, which must not be vouched for
  await makeHeads(parts);
  await store.write((db) =>
    db.insert(settings).values({ key: KEEPS_HEADS, value: "true" }).onConflictDoNothing(),
  );
}

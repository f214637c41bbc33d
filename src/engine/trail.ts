import { eq } from "drizzle-orm";
import type { App } from "../context.ts";
import { restoreTriggers } from "../resources/events/guard.ts";
import { readHeadFile } from "../resources/events/head-file.ts";
import { makeHeads } from "../resources/events/seals.ts";
import { settings } from "../store/settings.ts";

const KEEPS_HEADS = "trail_heads";

/**
 * Makes the audit log ready for its first event: triggers that somebody removed are made again, and a database of a
 * version that kept no heads gets them once.
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
  if (!store.remote && readHeadFile(dataFolder, secrets) !== null) return; // an older copy: nothing is to vouch for it
  await makeHeads(parts);
  await store.write((db) =>
    db.insert(settings).values({ key: KEEPS_HEADS, value: "true" }).onConflictDoNothing(),
  );
}

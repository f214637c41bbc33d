import { existsSync } from "node:fs";
import { join } from "node:path";
import { asc } from "drizzle-orm";
import type { Parts } from "../app.ts";
import { withDatabase } from "../engine/backup/contents.ts";
import { checkInstallation } from "../installation.ts";
import { verifyChain } from "../resources/events/verify.ts";
import type { Verification } from "../resources/events/wire.ts";
import { organizations } from "../resources/organizations/table.ts";
import type { ReadDb } from "../store/store.ts";
import { isTaken } from "./doctor/folder.ts";
import { withData } from "./host.ts";

/** Recomputes every organization's chain, also beside a running server; `onChain` gets each by the organization's slug. */
export async function verifyHere(
  parts: Parts,
  onChain: (slug: string, found: Verification) => void,
): Promise<Verification> {
  const whole: Verification = { valid: true, checked: 0, firstBadId: null };
  const verify = async (db: ReadDb) => {
    for (const { id, slug } of await db.select().from(organizations).orderBy(asc(organizations.id))) {
      const found = await verifyChain(db, id);
      whole.valid &&= found.valid;
      whole.checked += found.checked;
      whole.firstBadId ??= found.firstBadId;
      onChain(slug, found);
    }
  };
  checkInstallation(parts);
  const { dataFolder, databaseUrl } = parts.config;
  const file = join(dataFolder, "weir.db");
  if (databaseUrl === null && existsSync(file) && isTaken(dataFolder)) await withDatabase(file, verify);
  else await withData(parts, ({ store }) => verify(store.db));
  return whole;
}

import { asc } from "drizzle-orm";
import type { Parts } from "../app.ts";
import { verifyChain } from "../resources/events/verify.ts";
import type { Verification } from "../resources/events/wire.ts";
import { organizations } from "../resources/organizations/table.ts";
import { withData } from "./host.ts";

/** Recomputes every organization's chain while no server runs; `onChain` gets each by the organization's slug. */
export async function verifyHere(
  parts: Parts,
  onChain: (slug: string, found: Verification) => void,
): Promise<Verification> {
  const whole: Verification = { valid: true, checked: 0, firstBadId: null };
  await withData(parts, async ({ store }) => {
    for (const { id, slug } of await store.db.select().from(organizations).orderBy(asc(organizations.id))) {
      const found = await verifyChain(store.db, id);
      whole.valid &&= found.valid;
      whole.checked += found.checked;
      whole.firstBadId ??= found.firstBadId;
      onChain(slug, found);
    }
  });
  return whole;
}

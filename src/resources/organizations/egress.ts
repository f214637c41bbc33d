import { eq, sql } from "drizzle-orm";
import { type Egress, type EgressOptions, openEgress } from "../../base/egress.ts";
import { prepared } from "../../store/prepared.ts";
import type { ReadDb, Store } from "../../store/store.ts";
import { organizations } from "./table.ts";

const allowOf = prepared((db: ReadDb) =>
  db
    .select({ allow: organizations.egressAllow })
    .from(organizations)
    .where(eq(organizations.id, sql.placeholder("organizationId")))
    .prepare(),
);

/** Each has a cache of names. */
const MAX_OPEN = 100;

/**
 * The way out of each organization: what `options` allow, and the private addresses that an operator allows it, as they
 * are when a request leaves.
 */
export function openOrganizationEgress(
  { db }: Pick<Store, "db">,
  base: Egress,
  options: EgressOptions,
): (organizationId: string) => Egress {
  const opened = new Map<string, Egress>();
  const of = async (organizationId: string): Promise<Egress> => {
    const [row] = await allowOf(db).all({ organizationId });
    if (!row?.allow?.length) return base;
    const key = JSON.stringify(row.allow);
    const known = opened.get(key);
    if (known) return known;
    if (opened.size >= MAX_OPEN) opened.clear();
    const egress = openEgress({ ...options, allow: [...options.allow, ...row.allow] });
    opened.set(key, egress);
    return egress;
  };
  return (organizationId) => ({
    fetch: async (url, request) => (await of(organizationId)).fetch(url, request),
    pin: async (host, port) => (await of(organizationId)).pin(host, port),
    refuseOwn: async (host, port, via) => (await of(organizationId)).refuseOwn(host, port, via),
  });
}

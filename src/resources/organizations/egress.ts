import { sql } from "drizzle-orm";
import { type Egress, type EgressOptions, openEgress } from "../../base/egress.ts";
import { gathered } from "../../store/gathered.ts";
import { prepared } from "../../store/prepared.ts";
import type { ReadDb, Store } from "../../store/store.ts";
import { organizations } from "./table.ts";

const allowedBy = prepared((db: ReadDb) =>
  db
    .select({ id: organizations.id, allow: organizations.egressAllow })
    .from(organizations)
    .where(sql`${organizations.id} in (select value from json_each(${sql.placeholder("ids")}))`)
    .prepare(),
);

const allowOf = gathered(async (db, ids) => {
  const rows = await allowedBy(db).all({ ids: JSON.stringify(ids) });
  return new Map(rows.map(({ id, allow }) => [id, allow]));
});

/** Each has a DNS cache. */
const MAX_OPEN = 100;

/**
 * Outbound access of each organization:
 * what `options` allow, and the private addresses that an operator allows it, as of each request.
 */
export function openOrganizationEgress(
  { db }: Pick<Store, "db">,
  base: Egress,
  options: EgressOptions,
): (organizationId: string) => Egress {
  const opened = new Map<string, Egress>();
  const of = async (organizationId: string): Promise<Egress> => {
    const allowed = await allowOf(db, organizationId);
    if (!allowed?.length) return base;
    const key = JSON.stringify(allowed);
    const known = opened.get(key);
    if (known) return known;
    if (opened.size >= MAX_OPEN) opened.clear();
    const egress = openEgress({ ...options, allow: [...options.allow, ...allowed] });
    opened.set(key, egress);
    return egress;
  };
  return (organizationId) => ({
    fetch: async (url, request) => (await of(organizationId)).fetch(url, request),
    pin: async (host, port) => (await of(organizationId)).pin(host, port),
    refuseOwn: async (host, port, via) => (await of(organizationId)).refuseOwn(host, port, via),
  });
}

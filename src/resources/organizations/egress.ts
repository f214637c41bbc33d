import { sql } from "drizzle-orm";
import type { Clock } from "../../base/clock.ts";
import {
  type Egress,
  type EgressOptions,
  type EgressRequest,
  type EgressResponse,
  openEgress,
} from "../../base/egress.ts";
import type { Signals } from "../../base/signals.ts";
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

/** Another process could change what an organization is allowed; without one it is looked up this often. */
const ALLOWED_MAX_AGE_MS = 1_000;
const MAX_ALLOWED = 10_000;

/** Notified once what an organization is allowed has changed. */
export const EGRESS_TOPIC = "egress";

/**
 * Outbound access of each organization:
 * what `options` allow, and the private addresses that an operator allows it, as of each request.
 */
export function openOrganizationEgress(
  { store, signals, clock }: { store: Pick<Store, "db" | "remote">; signals: Signals; clock: Clock },
  base: Egress,
  options: EgressOptions,
): (organizationId: string) => Egress {
  const opened = new Map<string, Egress>();
  const egressOf = (allowed: readonly string[] | null | undefined): Egress => {
    if (!allowed?.length) return base;
    const key = JSON.stringify(allowed);
    const known = opened.get(key);
    if (known) return known;
    if (opened.size >= MAX_OPEN) opened.clear();
    const egress = openEgress({ ...options, allow: [...options.allow, ...allowed] });
    opened.set(key, egress);
    return egress;
  };

  const found = new Map<string, { egress: Egress; at: number }>();
  let generation = 0;
  signals.listen(EGRESS_TOPIC, () => {
    found.clear();
    generation++;
  });
  const look = async (organizationId: string): Promise<Egress> => {
    const began = { generation, at: clock.monotonic() };
    const egress = egressOf(await allowOf(store.db, organizationId));
    if (store.remote || began.generation !== generation) return egress;
    if (found.size >= MAX_ALLOWED) found.clear();
    found.set(organizationId, { egress, at: began.at });
    return egress;
  };
  const of = (organizationId: string): Egress | Promise<Egress> => {
    const known = found.get(organizationId);
    return known && clock.monotonic() - known.at < ALLOWED_MAX_AGE_MS ? known.egress : look(organizationId);
  };

  return (organizationId) => new OrganizationEgress(() => of(organizationId));
}

class OrganizationEgress implements Egress {
  readonly #current: () => Egress | Promise<Egress>;

  constructor(current: () => Egress | Promise<Egress>) {
    this.#current = current;
  }

  fetch(url: string, request?: EgressRequest): Promise<EgressResponse> {
    const egress = this.#current();
    return egress instanceof Promise
      ? egress.then((one) => one.fetch(url, request))
      : egress.fetch(url, request);
  }

  async pin(host: string, port: number) {
    return (await this.#current()).pin(host, port);
  }

  async refuseOwn(host: string, port: number, via: string) {
    return (await this.#current()).refuseOwn(host, port, via);
  }
}

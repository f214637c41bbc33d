/** Who uses a shared resource: a subscription, for its organization. */
export interface Sharer {
  id: string;
  organizationId: string;
}

/** Tracks how much of a limited resource each user has. */
export interface Shares {
  /** The total remaining amount. */
  left(): number;
  /** The amount that one has. */
  of(sharer: Sharer): number;
  /** The additional amount that one may take. */
  roomOf(sharer: Sharer): number;
  take(sharer: Sharer, amount?: number): void;
  giveBack(sharer: Sharer, amount?: number): void;
  clear(): void;
}

/**
 * Nobody can exhaust the resource: the limit depends on what a subscription, its organization and all together have.
 * One subscription gets at most a third. There is always room for one that has nothing,
 * and more in an organization that has less.
 */
export function openShares(amount: number): Shares {
  const bySharer = new Map<string, number>();
  const byOrganization = new Map<string, number>();
  let all = 0;
  const add = (counts: Map<string, number>, key: string, more: number) => {
    const count = (counts.get(key) ?? 0) + more;
    if (count > 0) counts.set(key, count);
    else counts.delete(key);
  };
  const change = ({ id, organizationId }: Sharer, more: number) => {
    add(bySharer, id, more);
    add(byOrganization, organizationId, more);
    all += more;
  };
  return {
    left: () => amount - all,
    of: ({ id }) => bySharer.get(id) ?? 0,
    roomOf({ id, organizationId }) {
      const counted = (bySharer.get(id) ?? 0) + (byOrganization.get(organizationId) ?? 0) + all;
      return Math.max(0, Math.ceil((amount - counted) / 3));
    },
    take: (sharer, more = 1) => change(sharer, more),
    giveBack: (sharer, less = 1) => change(sharer, -less),
    clear() {
      bySharer.clear();
      byOrganization.clear();
      all = 0;
    },
  };
}

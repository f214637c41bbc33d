/** Who takes of something that all share: a subscription, for its organization. */
export interface Sharer {
  id: string;
  organizationId: string;
}

/** Of something that there is a limited amount of, who has how much. */
export interface Shares {
  /** What is left of all. */
  left(): number;
  /** What one has. */
  of(sharer: Sharer): number;
  /** How much more one may take. */
  roomOf(sharer: Sharer): number;
  take(sharer: Sharer, amount?: number): void;
  giveBack(sharer: Sharer, amount?: number): void;
  clear(): void;
}

/**
 * Nobody takes so much that nothing is left for another: what a subscription has, what its organization has and what all
 * have count together. One alone gets a third; however many take what they can, there is room for one that has nothing,
 * and more of it in an organization that has less.
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

/** Identifies the state of a resource, as the server's ETags do. */
export interface Stamped {
  readonly updatedAt: string;
  readonly status?: unknown;
}

/** Number of states kept per path: a form may use an older one while a newer one is read. */
const MOST_STATES = 12;

/** ETags by path and state. The newest of each path is last. */
const tags = new Map<string, Map<string, string>>();

const stampOf = (body: unknown): string => {
  const { updatedAt, status } = (body ?? {}) as Partial<Stamped>;
  return typeof updatedAt === "string" ? `${updatedAt} ${status}` : "";
};

/** Stores the ETag of a resource that was read or changed. */
export function rememberTag(address: string, body: unknown, tag: string): void {
  const states = tags.get(address) ?? new Map<string, string>();
  const stamp = stampOf(body);
  states.delete(stamp);
  states.set(stamp, tag);
  for (const old of [...states.keys()].slice(0, -MOST_STATES)) states.delete(old);
  tags.set(address, states);
}

/** ETag of the state that a change is based on. Default: the newest known. */
export function tagOf(address: string, basedOn?: Stamped | null): string | undefined {
  const states = tags.get(address);
  return basedOn ? states?.get(stampOf(basedOn)) : [...(states?.values() ?? [])].at(-1);
}

/** The resource was deleted: its ETags don't apply to a new one at the same path. */
export const forgetTags = (address: string): void => void tags.delete(address);

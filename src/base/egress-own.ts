import { isIP } from "node:net";
import { networkInterfaces } from "node:os";
import { type Cidr, contains, embedded, isPublic, parseCidr } from "./cidr.ts";

/** A host and port that Weir itself uses, such as its database. */
export interface OwnService {
  /** Name of its setting. */
  setting: string;
  /** Without brackets. */
  host: string;
  port: number;
  /** True if it is blocked at public addresses too, since it may trust any connection from this host. */
  isAlways: boolean;
}

/** Throws what the resolver throws. */
type Resolve = (host: string) => Promise<string[]>;

/** Finds the service of Weir's own that has an address. */
export interface OwnAddresses {
  /** False if no service has this port. */
  mayBeAt(port: number): boolean;
  find(host: string, port: number, addresses: readonly string[]): Promise<OwnService | null>;
}

/** More addresses than any name has. If they keep changing, the oldest are dropped. */
const MAX_KNOWN = 100;

/** Compares by address and port. Earlier addresses of a name still count, for example if the resolver fails. */
export function openOwnAddresses(services: readonly OwnService[], resolve: Resolve): OwnAddresses {
  const known = new Map<string, Set<string>>();
  const addressesOf = async (host: string): Promise<readonly string[]> => {
    if (isIP(host)) return [host];
    const all = known.get(host) ?? new Set<string>();
    known.set(host, all);
    const found = await resolve(host).catch((): string[] => []); // earlier addresses still count
    for (const address of found) {
      all.delete(address);
      all.add(address);
    }
    for (const oldest of all) {
      if (all.size <= MAX_KNOWN) break;
      all.delete(oldest);
    }
    return [...all];
  };
  return {
    mayBeAt: (port) => services.some((service) => service.port === port),
    async find(host, port, addresses) {
      for (const service of services) {
        if (service.port !== port) continue;
        const counts = addresses.filter((address) => service.isAlways || !isPublic(address));
        if (service.host === host && (service.isAlways || counts.length > 0)) return service;
        if (counts.length === 0) continue;
        const own = await addressesOf(service.host);
        if (counts.some((address) => leadsTo(own, address))) return service;
      }
      return null;
    },
  };
}

/** Any address of this machine reaches a service on another one of its addresses, since most listen on all. */
const leadsTo = (own: readonly string[], address: string): boolean =>
  [address, ...embedded(address)].some(
    (one) => isOneOf(own, one) || (own.some(isOfThisMachine) && isOfThisMachine(one)),
  );

const LOOPBACK = ["127.0.0.0/8", "::1"];
/** Connecting to these reaches loopback. */
const UNSPECIFIED = ["0.0.0.0", "::"];

/** Returns whether connecting to the address reaches the connecting machine itself. */
export const isLoopback = (address: string): boolean =>
  [address, ...embedded(address)].some((one) => isOneOf([...LOOPBACK, ...UNSPECIFIED], one));

function isOneOf(ranges: readonly string[], address: string): boolean {
  return ranges.some((text) => {
    const range = parseCidr(text);
    return range !== null && contains(range, address);
  });
}

function isOfThisMachine(address: string): boolean {
  if (isOneOf([...LOOPBACK, ...UNSPECIFIED], address)) return true;
  const own = Object.values(networkInterfaces()).flatMap((list) => list?.map((entry) => entry.address) ?? []);
  return isOneOf(own, address);
}

/** Returns whether `address` and `port` lead to this server. */
export function isSelf(
  self: { address: string; port: number } | null,
  address: string,
  port: number,
): boolean {
  if (self?.port !== port) return false;
  const listensEverywhere = !isIP(self.address) || isOneOf(UNSPECIFIED, self.address);
  const addresses = [address, ...embedded(address)];
  if (listensEverywhere) return addresses.some(isOfThisMachine);
  return addresses.some(
    (one) => isOneOf([self.address], one) || (isOneOf(UNSPECIFIED, one) && isOneOf(LOOPBACK, self.address)),
  );
}

/** Ranges with a prefix this short or shorter are larger than any private network. */
const WIDE_BITS = { 4: 8, 6: 16 } as const;

/** Returns whether a range is probably wider than intended. */
export const isWide = (range: Cidr): boolean => range.prefix <= WIDE_BITS[range.family];

import { isIP } from "node:net";
import { isPublic } from "./cidr.ts";
import type { EgressOptions } from "./egress-gate.ts";

/** Names that always lead to this machine or its local network. */
const LOCAL = /^localhost$|\.(?:localhost|local|internal|lan|home\.arpa)$/;

interface Means {
  /** Returns whether an entry of `allow` names this host and port. */
  isNamed: (host: string, port: number) => boolean;
  /** Resolves a name on this machine. */
  resolve: (host: string) => Promise<string[]>;
  refuse: (host: string, port: number) => Error;
  refuseOwn: (host: string, port: number) => Error;
}

/**
 * Returns a function that decides whether a host is reached by the proxy, which resolves names and has
 * rules of its own: all except private addresses and what `allow` names. Names of the local network,
 * and of services that Weir itself uses, are blocked here. False means a direct connection, checked as without a proxy.
 */
export function openProxyRule({ own = [], isOwn = false }: EgressOptions, means: Means) {
  const isKnownPublic = async (host: string) => {
    const addresses = await means.resolve(host).catch((): string[] => []); // the proxy may resolve more names
    return addresses.length > 0 && addresses.every(isPublic);
  };
  return async (host: string, port: number): Promise<boolean> => {
    if (isIP(host)) return isPublic(host) && !own.some((one) => one.host === host && one.port === port);
    if (isOwn) {
      const addresses = await means.resolve(host).catch((): string[] => []);
      return addresses.every(isPublic);
    }
    const service = own.find((one) => one.host === host && one.port === port);
    if (service && (service.isAlways || !(await isKnownPublic(host)))) throw means.refuseOwn(host, port);
    if (means.isNamed(host, port)) return false;
    if (!host.includes(".") || LOCAL.test(host)) throw means.refuse(host, port);
    return true;
  };
}

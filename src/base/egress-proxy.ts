import { isIP } from "node:net";
import { isPublic } from "./cidr.ts";
import type { EgressOptions } from "./egress-gate.ts";

/** Names that lead to this machine or its own network, whoever resolves them. */
const LOCAL = /^localhost$|\.(?:localhost|local|internal|lan|home\.arpa)$/;

interface Means {
  /** Whether an entry of `allow` names this host and port. */
  isNamed: (host: string, port: number) => boolean;
  /** The addresses that this machine knows. */
  resolve: (host: string) => Promise<string[]>;
  refuse: (host: string, port: number) => Error;
  refuseOwn: (host: string, port: number) => Error;
}

/**
 * Decides what goes by the proxy, which resolves the names and has rules of its own for addresses: everything but private
 * addresses and what `allow` names. Names of this machine's own network, and of services that Weir itself uses, are
 * refused here. Gives false for what is connected to directly, and checked as it is without a proxy.
 */
export function openProxyRule({ own = [], isOwn = false }: EgressOptions, means: Means) {
  const isKnownPublic = async (host: string) => {
    const addresses = await means.resolve(host).catch((): string[] => []); // the proxy may know more
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

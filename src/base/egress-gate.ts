import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { type Cidr, contains, embedded, isPublic, parseCidr } from "./cidr.ts";
import { type Clock, systemClock } from "./clock.ts";
import { isLoopback, isSelf, isWide, type OwnService, openOwnAddresses } from "./egress-own.ts";
import { openProxyRule } from "./egress-proxy.ts";
import { AppError } from "./errors.ts";

export interface EgressOptions {
  /** Private CIDR ranges, addresses and host names that are allowed, each with an optional `:port`. */
  allow: readonly string[];
  /** Where this server listens, which is always blocked. Null while it doesn't listen. */
  self: () => { address: string; port: number } | null;
  /** Services that Weir itself uses. Blocked regardless of `allow`. */
  own?: readonly OwnService[];
  clock?: Clock;
  /** HTTP proxy, as `http(s)://user:password@host:port`. See `egress-proxy`. */
  proxy?: string | null;
  /** True for connections to Weir's own services. */
  isOwn?: boolean;
  /** Trusted certificates as PEM. Default: the runtime's. */
  ca?: string | undefined;
  /** Resolves all addresses of a name. Default: the system's resolver. */
  resolve?: (host: string) => Promise<string[]>;
}

/** Egress options for a service of Weir's own. An address set by the operator can be private. */
export function toOwn(options: EgressOptions, address: string | null): EgressOptions {
  if (address === null) return { ...options, own: [], isOwn: true };
  const url = new URL(address);
  const port = url.port || (url.protocol === "https:" ? "443" : "80");
  return { ...options, own: [], isOwn: true, allow: [...options.allow, `${url.hostname}:${port}`] };
}

/** Decides which addresses can be connected to. */
export interface Gate {
  /**
   * Resolves and checks all addresses of `host`, IPv4 first. `host` is as in a URL, without brackets.
   * Returns a promise only if something must be looked up.
   *
   * Throws `egress_blocked` if one is blocked, `upstream` if there is none, and the signal's reason.
   */
  admit(host: string, port: number, signal?: AbortSignal): Addresses | Promise<Addresses>;
  /** Throws `egress_blocked` if the machine at the address `via` would connect to a service of Weir's own. */
  refuseOwn(host: string, port: number, via: string): Promise<void>;
  /** Returns the proxy for requests to `host`. Null for a direct connection. Throws `egress_blocked`. */
  proxyFor(host: string, port: number): Promise<string | null> | null;
}

export type Addresses = readonly [string, ...string[]];

interface Rule {
  /** A range, or a name in lowercase. */
  target: Cidr | string;
  port: number | null;
}

/** How long DNS answers are cached. Connections always go to the checked address, cached or not. */
const ANSWER_MS = 5_000;
const MAX_ANSWERS = 1_000;

/** Throws `bad_request` if an entry of `allow` is invalid. */
export function openGate(options: EgressOptions): Gate {
  const rules = options.allow.map(parseRule);
  const answers = openAnswers(options.resolve ?? systemResolve, options.clock ?? systemClock);

  /** Results of the rules alone, which never change. The same receiver is checked many times. */
  const verdicts = new Map<string, boolean>();
  const isPermitted = (host: string, port: number, address: string): boolean => {
    const key = `${host} ${port} ${address}`;
    const known = verdicts.get(key);
    if (known !== undefined) return known;
    const open = rules.filter((rule) => rule.port === null || rule.port === port);
    const named = open.filter((rule) => matches(rule.target, host) || matches(rule.target, address));
    const verdict =
      isPublic(address) || named.some((rule) => rule.target === host) || inRanges(named, open, address);
    if (verdicts.size >= MAX_ANSWERS) verdicts.clear();
    verdicts.set(key, verdict);
    return verdict;
  };
  const own = openOwnAddresses(options.own ?? [], answers.of);

  const check = (host: string, port: number, address: string) => {
    if (isSelf(options.self(), address, port)) throw ownBlocked(host, port, address);
    if (!isPermitted(host, port, address)) throw blocked(host, port, address);
  };

  const ask = async (host: string, port: number, signal?: AbortSignal): Promise<Addresses> => {
    const addresses = isIP(host) ? [host] : await raced(answers.of(host), signal);
    for (const address of addresses) check(host, port, address);
    const service = await raced(own.find(host, port, addresses), signal);
    if (service !== null) throw ownBlocked(host, port, addresses[0] ?? host);
    return inOrder(host, addresses);
  };

  const { proxy = null } = options;
  const goesByProxy = openProxyRule(options, {
    isNamed: (host, port) =>
      rules.some((rule) => rule.target === host && (rule.port === null || rule.port === port)),
    resolve: answers.of,
    refuse: (host, port) => blocked(host, port, host),
    refuseOwn: (host, port) => ownBlocked(host, port, host),
  });

  return {
    proxyFor: (host, port) =>
      proxy === null ? null : goesByProxy(host, port).then((isSo) => (isSo ? proxy : null)),

    async refuseOwn(host, port, via) {
      if (isPublic(via)) return;
      const found = isIP(host) ? [host] : await answers.of(host).catch((): string[] => []); // known only there
      const isThere = found.some(isLoopback);
      const addresses = isThere ? [via] : found;
      const service = await own.find(isThere ? via : host, port, addresses);
      const isOurs = addresses.some((address) => isSelf(options.self(), address, port));
      if (service !== null || isOurs) throw ownBlocked(host, port, addresses[0] ?? host);
    },

    admit(host, port, signal) {
      const known = isIP(host) ? [host] : answers.known(host);
      if (known === null || own.mayBeAt(port)) return ask(host, port, signal);
      for (const address of known) check(host, port, address);
      return inOrder(host, known);
    },
  };
}

function inOrder(host: string, addresses: readonly string[]): Addresses {
  const [first, ...others] =
    addresses.length === 1 ? addresses : [...new Set(addresses)].sort((a, b) => isIP(a) - isIP(b));
  if (first === undefined)
    throw new AppError("upstream", `Host ${host} has no address.`, { retryable: true });
  return [first, ...others];
}

/** Allowing a NAT64 or 6to4 range doesn't allow the private IPv4 addresses in it. */
const inRanges = (named: Rule[], known: Rule[], address: string): boolean =>
  named.length > 0 &&
  embedded(address).every((inner) => isPublic(inner) || known.some((rule) => matches(rule.target, inner)));

const matches = (target: Cidr | string, hostOrAddress: string): boolean =>
  typeof target === "string" ? target === hostOrAddress : contains(target, hostOrAddress);

function blocked(host: string, port: number, address: string): AppError {
  return new AppError(
    "egress_blocked",
    `Connection to ${shown(host, port, address)} blocked: private address. To allow it, add ${placeOf(host, port)} to WEIR_EGRESS_ALLOW and restart Weir.`,
    { details: { host, port, address } },
  );
}

/** Doesn't say which service it is, since the address may have been guessed. */
function ownBlocked(host: string, port: number, address: string): AppError {
  return new AppError(
    "egress_blocked",
    `Connection to ${shown(host, port, address)} blocked: the address of Weir or of a service that Weir uses. WEIR_EGRESS_ALLOW can't allow it.`,
    { details: { host, port, address } },
  );
}

const placeOf = (host: string, port: number): string =>
  isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`;

function shown(host: string, port: number, address: string): string {
  const at = placeOf(address, port);
  return address === host ? at : `${at} (the address of ${host})`;
}

function parseRule(text: string): Rule {
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^[\]]+?))(?::(\d+))?$/.exec(whole(text)) ?? [];
  const target =
    bracketed === undefined ? (parseCidr(plain ?? "") ?? parseName(plain ?? "")) : parseCidr(bracketed);
  const number = port === undefined ? null : Number(port);
  if (!target || number === 0 || (number ?? 0) > 65_535) {
    throw new AppError(
      "bad_request",
      `Invalid entry in WEIR_EGRESS_ALLOW: "${text}". Use a comma-separated list of CIDR ranges such as 10.0.0.0/8 and hostnames such as db.internal, each with an optional :port.`,
    );
  }
  return { target, port: number };
}

/** An IPv6 range without brackets isn't a host with a port. */
const whole = (text: string): string => (parseCidr(text)?.family === 6 ? `[${text.trim()}]` : text.trim());

function parseName(text: string): string | null {
  const url = `http://${text}/`;
  if (!/^[^\s/?#@:\\*]+$/.test(text) || !URL.canParse(url)) return null;
  const name = hostOf(new URL(url));
  return isIP(name) ? null : name;
}

/** Host of a URL, without brackets and the trailing dot. */
export const hostOf = (url: URL): string => url.hostname.replace(/^\[|\]$|\.$/g, "");

/** An entry of `allow` that is probably wider than intended. */
export interface WideEntry {
  entry: string;
  /** The setting whose service it covers, which stays blocked. Null for a wide range. */
  covers: string | null;
}

/** Returns wide ranges in `allow`, and entries that cover a service of Weir's own. */
export async function wideEntries(options: EgressOptions): Promise<WideEntry[]> {
  const resolve = options.resolve ?? systemResolve;
  const services = await Promise.all(
    (options.own ?? []).map(async (service) => {
      const { host } = service;
      const found = isIP(host) ? [] : await resolve(host).catch((): string[] => []); // an unknown name has no address
      return { ...service, targets: [host, ...found] };
    }),
  );
  return options.allow.flatMap((entry): WideEntry[] => {
    const { target, port } = parseRule(entry);
    const covered = services.find(
      (one) =>
        (port === null || port === one.port) && one.targets.some((address) => matches(target, address)),
    );
    if (covered) return [{ entry, covers: covered.setting }];
    return typeof target !== "string" && isWide(target) ? [{ entry, covers: null }] : [];
  });
}

/** Warning for the operator. */
export const wideText = ({ entry, covers }: WideEntry): string =>
  covers === null
    ? `WEIR_EGRESS_ALLOW includes ${entry}, which lets every action reach whatever this machine can reach. List only the hosts you need, such as db.internal:5432.`
    : `WEIR_EGRESS_ALLOW includes ${entry}, which covers the host of ${covers}. That host and port stay blocked for organizations. List other hosts individually.`;

const systemResolve = async (host: string): Promise<string[]> =>
  (await lookup(host, { all: true, verbatim: true })).map((entry) => entry.address);

interface Answer {
  at: number;
  addresses: Promise<string[]>;
  /** Null while it is being resolved. */
  found: string[] | null;
}

/** Caches answers briefly, so that many requests to one host resolve it once. */
function openAnswers(resolve: (host: string) => Promise<string[]>, clock: Clock) {
  const kept = new Map<string, Answer>();
  const fresh = (host: string): Answer | undefined => {
    const answer = kept.get(host);
    return answer && clock.monotonic() - answer.at < ANSWER_MS ? answer : undefined;
  };
  const ask = (host: string): Promise<string[]> => {
    const answer: Answer = { at: clock.monotonic(), found: null, addresses: Promise.resolve([]) };
    answer.addresses = resolve(host).then(
      (found) => {
        answer.found = found;
        return found;
      },
      (cause: unknown) => {
        kept.delete(host);
        throw lookupFailed(host, cause);
      },
    );
    kept.delete(host);
    kept.set(host, answer);
    const [oldest] = kept.keys();
    if (kept.size > MAX_ANSWERS && oldest !== undefined) kept.delete(oldest);
    return answer.addresses;
  };
  return {
    of: (host: string): Promise<string[]> => fresh(host)?.addresses ?? ask(host),
    /** Returns cached addresses. Null if there are none. */
    known: (host: string): readonly string[] | null => fresh(host)?.found ?? null,
  };
}

function lookupFailed(host: string, cause: unknown): AppError {
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  const missing = ["ENOTFOUND", "ENODATA", "ENONAME", "NXDOMAIN"].some((known) => code.endsWith(known));
  const message = missing
    ? `Host ${host} not found.`
    : `DNS lookup of ${host} failed${code && ` (${code})`}.`;
  return new AppError("upstream", message, { retryable: true, cause });
}

/** Returns the result of `work`. Throws the signal's reason if `signal` aborts first. */
function raced<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work;
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}

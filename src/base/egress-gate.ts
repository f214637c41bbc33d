import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { networkInterfaces } from "node:os";
import { type Cidr, contains, embedded, isPublic, parseCidr } from "./cidr.ts";
import { type Clock, systemClock } from "./clock.ts";
import { AppError } from "./errors.ts";

export interface EgressOptions {
  /** CIDR ranges, addresses and host names that may be reached although they are private, each with an optional `:port`. */
  allow: readonly string[];
  /** Where we listen ourselves; refused unless `allow` has exactly that host and port. Null while we don't listen. */
  self: () => { address: string; port: number } | null;
  clock?: Clock;
  /** All addresses of a name; the system's resolver by default. */
  resolve?: (host: string) => Promise<string[]>;
}

/** The way out with one more address that may be private: exactly the operator's. */
export function admitting(options: EgressOptions, address: string): EgressOptions {
  const url = new URL(address);
  const port = url.port || (url.protocol === "https:" ? "443" : "80");
  return { ...options, allow: [...options.allow, `${url.hostname}:${port}`] };
}

/** Decides which addresses may be connected to. */
export interface Gate {
  /**
   * The addresses of `host`, IPv4 first, each of them checked; `host` is as `URL` writes it, without brackets.
   *
   * Throws `egress_blocked` where one of them is refused, `upstream` where there is none, and the signal's reason.
   */
  admit(host: string, port: number, signal?: AbortSignal): Promise<[string, ...string[]]>;
}

interface Rule {
  /** A range, or a name in lower case. */
  target: Cidr | string;
  port: number | null;
}

/** A name is asked for again after this long. What was connected to is what was checked, cached or not. */
const ANSWER_MS = 5_000;
const MAX_ANSWERS = 1_000;

/** Throws `bad_request` with a sentence for an entry of `allow` that can't be read. */
export function openGate(options: EgressOptions): Gate {
  const rules = options.allow.map(parseRule);
  const answers = openAnswers(options.resolve ?? systemResolve, options.clock ?? systemClock);

  /** What the rules alone say, which never change: one receiver is asked for many times. */
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
  /** Where we listen ourselves only a rule for exactly that opens the way. */
  const isOwnPermitted = (host: string, port: number, address: string): boolean =>
    rules.some(
      (rule) =>
        rule.port === port &&
        isOneHost(rule.target) &&
        (matches(rule.target, host) || matches(rule.target, address)),
    );

  const check = (host: string, port: number, address: string) => {
    const own = isSelf(options.self(), address, port);
    const permitted = own ? isOwnPermitted(host, port, address) : isPermitted(host, port, address);
    if (!permitted) throw blocked(host, port, address, own);
  };

  return {
    async admit(host, port, signal) {
      const addresses = isIP(host) ? [host] : await raced(answers(host), signal);
      for (const address of addresses) check(host, port, address);
      if (addresses.length === 1) return [addresses[0] as string];
      const [first, ...others] = [...new Set(addresses)].sort((a, b) => isIP(a) - isIP(b));
      if (first === undefined)
        throw new AppError("upstream", `The host ${host} has no address.`, { retryable: true });
      return [first, ...others];
    },
  };
}

/** An allowed NAT64 or 6to4 range doesn't open the private IPv4 addresses behind it. */
const inRanges = (named: Rule[], known: Rule[], address: string): boolean =>
  named.length > 0 &&
  embedded(address).every((inner) => isPublic(inner) || known.some((rule) => matches(rule.target, inner)));

const matches = (target: Cidr | string, hostOrAddress: string): boolean =>
  typeof target === "string" ? target === hostOrAddress : contains(target, hostOrAddress);

const isOneHost = (target: Cidr | string): boolean =>
  typeof target === "string" || target.prefix === (target.family === 4 ? 32 : 128);

function blocked(host: string, port: number, address: string, own: boolean): AppError {
  const at = isIP(address) === 6 ? `[${address}]:${port}` : `${address}:${port}`;
  const of = address === host ? "" : ` (the address of ${host})`;
  const why = own ? "it is Weir's own address" : "it is not a public address";
  const entry = own ? `exactly ${at}` : "it";
  return new AppError(
    "egress_blocked",
    `Weir may not connect to ${at}${of}: ${why}. WEIR_EGRESS_ALLOW can allow ${entry}.`,
    { details: { host, port, address } },
  );
}

function parseRule(text: string): Rule {
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^[\]]+?))(?::(\d+))?$/.exec(whole(text)) ?? [];
  const target =
    bracketed === undefined ? (parseCidr(plain ?? "") ?? parseName(plain ?? "")) : parseCidr(bracketed);
  const number = port === undefined ? null : Number(port);
  if (!target || number === 0 || (number ?? 0) > 65_535) {
    throw new AppError(
      "bad_request",
      `WEIR_EGRESS_ALLOW has "${text}"; it takes a comma list of CIDR ranges such as 10.0.0.0/8 and host names such as db.internal, each with an optional :port.`,
    );
  }
  return { target, port: number };
}

/** An IPv6 range without brackets is no host with a port. */
const whole = (text: string): string => (parseCidr(text)?.family === 6 ? `[${text.trim()}]` : text.trim());

function parseName(text: string): string | null {
  const url = `http://${text}/`;
  if (!/^[^\s/?#@:\\*]+$/.test(text) || !URL.canParse(url)) return null;
  const name = hostOf(new URL(url));
  return isIP(name) ? null : name;
}

/** The host of a URL without brackets and the root's dot, which are no part of a name. */
export const hostOf = (url: URL): string => url.hostname.replace(/^\[|\]$|\.$/g, "");

const LOOPBACK = ["127.0.0.0/8", "::1"];
/** Connecting to them reaches loopback. */
const UNSPECIFIED = ["0.0.0.0", "::"];
const isOneOf = (ranges: string[], address: string): boolean =>
  ranges.some((text) => {
    const range = parseCidr(text);
    return range !== null && contains(range, address);
  });

function isSelf(self: { address: string; port: number } | null, address: string, port: number): boolean {
  if (self?.port !== port) return false;
  const listensEverywhere = !isIP(self.address) || isOneOf(UNSPECIFIED, self.address);
  const local = isOneOf(UNSPECIFIED, address);
  if (!listensEverywhere)
    return isOneOf([self.address], address) || (local && isOneOf(LOOPBACK, self.address));
  const own = Object.values(networkInterfaces()).flatMap((list) => list?.map((entry) => entry.address) ?? []);
  return local || isOneOf([...LOOPBACK, ...own], address);
}

const systemResolve = async (host: string): Promise<string[]> =>
  (await lookup(host, { all: true, verbatim: true })).map((entry) => entry.address);

/** Keeps answers for a moment, so that many requests to one host ask once. */
function openAnswers(resolve: (host: string) => Promise<string[]>, clock: Clock) {
  const kept = new Map<string, { at: number; addresses: Promise<string[]> }>();
  return (host: string): Promise<string[]> => {
    const now = clock.monotonic();
    const found = kept.get(host);
    if (found && now - found.at < ANSWER_MS) return found.addresses;
    const addresses = resolve(host).catch((cause: unknown) => {
      kept.delete(host);
      throw lookupFailed(host, cause);
    });
    kept.delete(host);
    kept.set(host, { at: now, addresses });
    const [oldest] = kept.keys();
    if (kept.size > MAX_ANSWERS && oldest !== undefined) kept.delete(oldest);
    return addresses;
  };
}

function lookupFailed(host: string, cause: unknown): AppError {
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  const missing = ["ENOTFOUND", "ENODATA", "ENONAME", "NXDOMAIN"].some((known) => code.endsWith(known));
  const message = missing
    ? `The host ${host} was not found.`
    : `The host ${host} could not be looked up${code && ` (${code})`}.`;
  return new AppError("upstream", message, { retryable: true, cause });
}

/** What `work` gives, unless `signal` aborts first; then its reason is thrown. */
function raced<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work;
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}

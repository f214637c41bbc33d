import { isIP } from "node:net";
import { hostOf } from "./egress-gate.ts";
import { nameOf } from "./egress-limits.ts";
import { AppError } from "./errors.ts";

/** A parsed URL. */
export interface Target {
  url: URL;
  /** For people and the Host header. */
  name: string;
  /** As in a URL, without brackets. */
  host: string;
  port: number;
  /** TLS options with the name for SNI. */
  tls: { serverName?: string };
  /** URLs to connect to, by address. */
  pins: Map<string, string>;
}

export function targetOf(url: URL): Target {
  const host = hostOf(url);
  return {
    url,
    name: nameOf(url),
    host,
    port: Number(url.port || (url.protocol === "https:" ? 443 : 80)),
    tls: isIP(host) ? {} : { serverName: host },
    pins: new Map(),
  };
}

/** Parsed once each, since some get thousands of requests. */
const targets = new Map<string, Target>();
const MAX_TARGETS = 1_000;
const MAX_PINS = 10;

export function readTarget(text: string): Target {
  const known = targets.get(text);
  if (known) return known;
  const target = targetOf(readUrl(text));
  if (targets.size >= MAX_TARGETS) targets.clear();
  targets.set(text, target);
  return target;
}

/** Returns the URL with the address instead of the name, and without the fragment. */
export function pinned({ url, host, pins }: Target, address: string): string {
  const known = pins.get(address);
  if (known !== undefined) return known;
  const pin = new URL(url);
  if (address !== host) pin.hostname = isIP(address) === 6 ? `[${address}]` : address;
  pin.hash = "";
  if (pins.size >= MAX_PINS) pins.clear();
  pins.set(address, pin.href);
  return pin.href;
}

/** The message contains only the host, since the rest of the URL may be secret. */
export function readUrl(text: string, base?: URL): URL {
  const url = URL.parse(text, base?.href);
  if (url === null) {
    if (base) throw new AppError("upstream", `${nameOf(base)} redirected to an invalid URL.`);
    throw new AppError("bad_request", "The request URL is invalid.");
  }
  const from = base ? `${nameOf(base)} redirected to` : "Blocked:";
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new AppError("egress_blocked", `${from} a ${url.protocol} URL. Only http: and https: are allowed.`);
  }
  if (url.username !== "" || url.password !== "") {
    throw new AppError(
      "egress_blocked",
      `${from} a URL of ${nameOf(url)} with a username or password in it.`,
    );
  }
  return url;
}

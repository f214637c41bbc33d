import { isIP } from "node:net";
import { hostOf } from "./egress-gate.ts";
import { nameOf } from "./egress-limits.ts";
import { AppError } from "./errors.ts";

/** An address, and what it is read for. */
export interface Target {
  url: URL;
  /** As people read it and as the Host header has it. */
  name: string;
  /** As `URL` writes it, without brackets. */
  host: string;
  port: number;
  /** With the name for SNI. */
  tls: { serverName?: string };
  /** What is connected to, by the address. */
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

/** Read once each: some are sent to thousands of times. */
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

/** The URL with the address instead of the name, without the part that is not sent. */
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

/** The message says no more of the address than its host, as the rest may be secret. */
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

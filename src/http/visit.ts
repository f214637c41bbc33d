import { withoutBase } from "../base/base-path.ts";
import { type Cidr, contains, parseCidr } from "../base/cidr.ts";
import { basePathOf } from "../config.ts";
import type { App } from "../context.ts";
import type { Visitor } from "../resources/sign-in/setup.ts";
import type { Visit } from "./operation.ts";
import { tracedBy } from "./trace.ts";

/** The visitor, for services that don't know requests. */
export const visitorOf = ({ address, userAgent, correlationId }: Visit): Visitor => ({
  ip: address,
  userAgent,
  correlationId,
});

const CORRELATION_ID = /^[A-Za-z0-9._-]{8,128}$/;

interface Peer {
  requestIP(request: Request): { address: string } | null;
  timeout(request: Request, seconds: number): void;
}

/** Reads a request before its credentials are checked. */
export function visitOf(app: App, request: Request, server: Peer | null): Visit {
  const header = request.headers.get("x-correlation-id");
  const peer = server?.requestIP(request)?.address ?? "unknown";
  const proxies = trusted(app.config.trustedProxies);
  const behindProxy = proxies.length > 0 && isTrusted(proxies, peer);
  const base = basePathOf(app.config);
  let url: URL | undefined;
  return {
    request,
    base,
    get url() {
      if (url === undefined) {
        url = urlOf(request.url);
        if (base !== "") url.pathname = withoutBase(base, url.pathname);
      }
      return url;
    },
    get address() {
      return plain(behindProxy ? forwardedFor(request, proxies, peer) : peer);
    },
    get isSecure() {
      const scheme = behindProxy ? request.headers.get("x-forwarded-proto")?.split(",").at(-1)?.trim() : null;
      return (scheme ?? (app.baseUrl().startsWith("https:") ? "https" : "http")) === "https";
    },
    userAgent: request.headers.get("user-agent")?.slice(0, 500) ?? null,
    correlationId:
      header !== null && CORRELATION_ID.test(header)
        ? header
        : (tracedBy(app, request.headers) ?? app.ids.uuid()),
    keepOpen: () => server?.timeout(request, 0),
    closing: app.closing,
  };
}

/** Also for a rejected request without a valid Host header, which is logged by its path. */
function urlOf(text: string): URL {
  const url = URL.parse(text);
  if (url) return url;
  const path = text.replace(/^[a-z]+:\/\/[^/]*/, "");
  return new URL(URL.canParse(`http://localhost${path}`) ? `http://localhost${path}` : "http://localhost/");
}

/** Returns the right-most address that isn't a trusted proxy's (docs/decisions/http-conventions.md). */
function forwardedFor(request: Request, proxies: readonly Cidr[], peer: string): string {
  const hops = (request.headers.get("x-forwarded-for") ?? "")
    .split(",")
    .map((hop) => withoutPort(hop.trim()))
    .filter(Boolean);
  for (const hop of hops.reverse()) if (!isTrusted(proxies, hop)) return hop;
  return peer;
}

/** Some proxies add the port of the connection: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
const withoutPort = (hop: string) =>
  hop.replace(/^\[([^\]]*)\](:\d+)?$/, "$1").replace(/^([\d.]+):\d+$/, "$1");

const isTrusted = (proxies: readonly Cidr[], address: string) =>
  proxies.some((range) => contains(range, address));

/** Converts an IPv4-mapped IPv6 address to IPv4. */
const plain = (address: string) => address.replace(/^::ffff:(\d+\.\d+\.\d+\.\d+)$/i, "$1");

const parsed = new WeakMap<readonly string[], readonly Cidr[]>();

function trusted(texts: readonly string[]): readonly Cidr[] {
  let ranges = parsed.get(texts);
  if (!ranges) {
    ranges = texts.map((text) => parseCidr(text)).filter((range) => range !== null);
    parsed.set(texts, ranges);
  }
  return ranges;
}

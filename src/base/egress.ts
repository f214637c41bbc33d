import { isIP } from "node:net";
import { type EgressOptions, type Gate, hostOf, openGate } from "./egress-gate.ts";
import { failureOf, nameOf, openDeadline, readAtMost, watchBody } from "./egress-limits.ts";
import { AppError } from "./errors.ts";

export type { EgressOptions };

/** One outgoing request; the address is checked and pinned, redirects are followed by hand. */
export interface EgressRequest {
  method?: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;
  /** Passed on to every hop and to the body. */
  signal?: AbortSignal;
  /** Milliseconds for the whole exchange, body included; 60,000 by default, 0 for none. */
  timeoutMs?: number;
  /** At most so many redirects; 0 gives the redirect itself back. Default 5. */
  maxRedirects?: number;
}

export interface EgressResponse {
  status: number;
  headers: Headers;
  /** Of the last hop. */
  url: string;
  /** Decoded bytes as they come. Read it, or cancel it. */
  body: ReadableStream<Uint8Array>;
  /** The whole body, at most `maxBytes` after decoding; `truncated` tells that there was more. */
  bytes(maxBytes: number): Promise<{ bytes: Uint8Array; truncated: boolean }>;
}

/** An address that was checked, to connect to instead of the name. */
interface PinnedAddress {
  address: string;
  family: 4 | 6;
}

/**
 * The one way to the outside.
 *
 * Throws `egress_blocked` naming the address and the setting, `upstream` (retryable) when the other
 * side can't be reached, `timeout` (retryable), and the signal's reason when it aborts.
 */
export interface Egress {
  fetch(url: string, request?: EgressRequest): Promise<EgressResponse>;
  /** Resolves and checks a host for clients that are not HTTP; they connect to what comes back. */
  pin(host: string, port: number): Promise<PinnedAddress>;
}

const TIMEOUT_MS = 60_000;
const MAX_REDIRECTS = 5;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** What the connection itself says; the caller's words on it would let two requests be read as one. */
const CONNECTION_HEADERS =
  /^(host|connection|keep-alive|proxy-connection|te|trailer|transfer-encoding|upgrade|expect)$/;
/** Not sent on to another origin. */
const CREDENTIALS =
  /auth|cookie|token|secret|passw|credential|session|signature|jwt|csrf|(api|access)[-_]?key|(?<!^idempotency)[-_]key$/;
/** What `fetch` of Bun decodes; a list of two codings stays as it is. */
const DECODED = /^(gzip|x-gzip|deflate|br|zstd)$/i;

/** A bad entry of `allow` throws `bad_request`. `ca` replaces the certificates that are trusted. */
export function openEgress(options: EgressOptions & { ca?: string }): Egress {
  const gate = openGate(options);
  return {
    fetch: (url, request = {}) => exchange(gate, options.ca, url, request),
    async pin(host, port) {
      const [address] = await gate.admit(readHost(host), port);
      return { address, family: isIP(address) === 6 ? 6 : 4 };
    },
  };
}

/** One request of an exchange; a redirect makes the next one. */
interface Hop {
  url: URL;
  method: string;
  headers: Headers;
  body: EgressRequest["body"];
}

async function exchange(
  gate: Gate,
  ca: string | undefined,
  address: string,
  request: EgressRequest,
): Promise<EgressResponse> {
  let hop = firstHop(address, request);
  const maxRedirects = request.maxRedirects ?? MAX_REDIRECTS;
  const deadline = openDeadline(request.signal, request.timeoutMs ?? TIMEOUT_MS, nameOf(hop.url));
  const explain = (error: unknown) =>
    deadline.signal.aborted ? deadline.signal.reason : failureOf(error, hop.url);
  try {
    for (let redirects = 0; ; redirects++) {
      const response = await send(gate, ca, hop, deadline.signal);
      const location = response.headers.get("location");
      if (maxRedirects === 0 || !REDIRECTS.has(response.status) || location === null) {
        return answer(response, hop.url, watchBody(response.body, deadline, explain));
      }
      await response.body?.cancel();
      if (redirects >= maxRedirects) {
        throw new AppError("upstream", `${nameOf(hop.url)} redirected more than ${maxRedirects} times.`);
      }
      hop = redirected(hop, response.status, location);
    }
  } catch (error) {
    const reason = explain(error);
    deadline.close();
    throw reason;
  }
}

function firstHop(address: string, request: EgressRequest): Hop {
  const method = (request.method ?? "GET").toUpperCase();
  if (!/^[A-Z][A-Z-]*$/.test(method) || /^(CONNECT|TRACE|TRACK)$/.test(method)) {
    throw new AppError("bad_request", `The method ${JSON.stringify(method)} can't be sent.`);
  }
  if (request.body !== undefined && /^(GET|HEAD)$/.test(method)) {
    throw new AppError("bad_request", `A ${method} request can't have a body.`);
  }
  const headers = new Headers({ "user-agent": "Weir" });
  for (const [name, value] of Object.entries(request.headers ?? {})) {
    if (CONNECTION_HEADERS.test(name.toLowerCase())) continue;
    // Only of a stream is the length not known here, such as for an upload to S3.
    if (name.toLowerCase() === "content-length" && !(request.body instanceof ReadableStream)) continue;
    try {
      headers.set(name, value);
    } catch (cause) {
      throw new AppError("bad_request", `The header ${JSON.stringify(name)} can't be sent.`, { cause });
    }
  }
  return { url: readUrl(address), method, headers, body: request.body };
}

/** Connects to the checked address, with the name in Host and, for the certificate, in SNI. */
async function send(gate: Gate, ca: string | undefined, hop: Hop, signal: AbortSignal): Promise<Response> {
  const host = hostOf(hop.url);
  const port = Number(hop.url.port || (hop.url.protocol === "https:" ? 443 : 80));
  signal.throwIfAborted();
  const addresses = await gate.admit(host, port, signal);
  const headers = new Headers(hop.headers);
  headers.set("host", nameOf(hop.url));
  // Bun 1.4.5 keeps connections by address, port, name of SNI and certificates: none is shared by two names.
  const tls = { ...(isIP(host) ? {} : { serverName: host }), ...(ca === undefined ? {} : { ca }) };
  const init = { method: hop.method, headers, body: hop.body, redirect: "manual" as const, signal, tls };
  for (const [index, address] of addresses.entries()) {
    const target = new URL(hop.url);
    target.hostname = isIP(address) === 6 ? `[${address}]` : address;
    target.hash = "";
    try {
      // Without `proxy: false` Bun obeys HTTP_PROXY; without `timeout: false` it ends a quiet stream after five minutes.
      return await fetch(target, { ...init, proxy: false, timeout: false } as RequestInit);
    } catch (error) {
      const unreached = error instanceof Error && "code" in error && error.code === "ECONNREFUSED";
      if (!unreached || index + 1 === addresses.length || hop.body instanceof ReadableStream) throw error;
    }
  }
  throw new AppError("upstream", `${nameOf(hop.url)} has no address.`, { retryable: true });
}

function redirected(hop: Hop, status: number, location: string): Hop {
  const from = nameOf(hop.url);
  const url = readUrl(location, hop.url);
  if (hop.url.protocol === "https:" && url.protocol === "http:") {
    throw new AppError(
      "egress_blocked",
      `${from} redirected from https to http (${nameOf(url)}), which is never followed.`,
    );
  }
  const headers = new Headers(hop.headers);
  if (url.origin !== hop.url.origin) {
    for (const name of [...headers.keys()]) if (CREDENTIALS.test(name)) headers.delete(name);
  }
  const asGet = (status === 303 && hop.method !== "HEAD") || (status < 303 && hop.method === "POST");
  if (asGet) {
    for (const name of [...headers.keys()]) if (name.startsWith("content-")) headers.delete(name);
    return { url, method: "GET", headers, body: undefined };
  }
  if (hop.body instanceof ReadableStream) {
    throw new AppError("upstream", `${from} redirected a streamed body, which can't be sent a second time.`);
  }
  return { ...hop, url, headers };
}

function answer(response: Response, url: URL, body: ReadableStream<Uint8Array>): EgressResponse {
  const headers = new Headers(response.headers);
  if (response.body !== null && DECODED.test(headers.get("content-encoding") ?? "")) {
    headers.delete("content-encoding");
    headers.delete("content-length");
  }
  return {
    status: response.status,
    headers,
    url: url.href,
    body,
    bytes: (maxBytes) => readAtMost(body, maxBytes),
  };
}

/** The message says no more of the address than its host, as the rest may be secret. */
function readUrl(text: string, base?: URL): URL {
  if (!URL.canParse(text, base?.href)) {
    if (base) throw new AppError("upstream", `${nameOf(base)} redirected to something that is no address.`);
    throw new AppError("bad_request", "The address of the request is not a URL.");
  }
  const url = new URL(text, base?.href);
  const from = base ? `${nameOf(base)} redirected to` : "Weir may not reach";
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new AppError(
      "egress_blocked",
      `${from} a ${url.protocol} address; only http: and https: are allowed.`,
    );
  }
  if (url.username !== "" || url.password !== "") {
    throw new AppError(
      "egress_blocked",
      `${from} ${nameOf(url)} with a user name or password in the address.`,
    );
  }
  return url;
}

/** Brings a bare host to the form in which `URL` writes it, so that 0x7f.1 is seen as what it is. */
function readHost(host: string): string {
  const bracketed = isIP(host) === 6 ? `[${host}]` : host;
  if (/^(\[[^\]]+\]|[^\s/?#@:\\]+)$/.test(bracketed) && URL.canParse(`http://${bracketed}/`)) {
    return hostOf(new URL(`http://${bracketed}/`));
  }
  throw new AppError("bad_request", `${JSON.stringify(host)} is not a host name or an address.`);
}

import { isIP } from "node:net";
import { type EgressOptions, type Gate, hostOf, openGate } from "./egress-gate.ts";
import { type Deadline, failureOf, nameOf, openDeadline, readAtMost, watchBody } from "./egress-limits.ts";
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
  /** Milliseconds in which something has to come of a reply that is waited for; none by default. */
  idleMs?: number;
  /** At most so many redirects; 0 gives the redirect itself back. Default 5. */
  maxRedirects?: number;
  /** Headers that carry credentials under names of their own; like those of known names they go to no other origin. */
  credentialHeaders?: readonly string[];
  /** PEM of the authorities that the server's certificate has to come from, in place of those that are trusted anyway. */
  authorities?: string;
  /** True leaves the body as it was sent, `content-encoding` undone by nobody: a copy has to have the same bytes. */
  isRaw?: boolean;
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
  /**
   * Throws `egress_blocked` where the machine at the address `via`, which connects to `host` for us, would get to Weir
   * itself or to a service of its own. A machine at a public address has other networks around it than we have.
   */
  refuseOwn(host: string, port: number, via: string): Promise<void>;
}

const TIMEOUT_MS = 60_000;
const MAX_REDIRECTS = 5;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** Their replies have no body. */
const BODILESS = new Set([204, 205, 304]);
/** What the connection itself says; the caller's words on it would let two requests be read as one. */
const CONNECTION_HEADERS = new Set([
  "host",
  "connection",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "expect",
]);
/** Not sent on to another origin. */
const CREDENTIALS =
  /auth|cookie|token|secret|passw|credential|session|signature|jwt|csrf|(api|access)[-_]?key|(?<!^idempotency)[-_]key$/;
/** What `fetch` of Bun decodes; a list of two codings stays as it is. */
const DECODED = /^(gzip|x-gzip|deflate|br|zstd)$/i;

/** A bad entry of `allow` throws `bad_request`. */
export function openEgress(options: EgressOptions): Egress {
  const gate = openGate(options);
  return {
    fetch: (url, request = {}) => exchange(gate, options.ca, url, request),
    async pin(host, port) {
      const [address] = await gate.admit(readHost(host), port);
      return { address, family: isIP(address) === 6 ? 6 : 4 };
    },
    refuseOwn: (host, port, via) => gate.refuseOwn(readHost(host), port, via),
  };
}

/** An address, and what it is read for. */
interface Target {
  url: URL;
  /** As people read it and as the Host header has it. */
  name: string;
  /** As `URL` writes it, without brackets. */
  host: string;
  port: number;
}

const targetOf = (url: URL): Target => ({
  url,
  name: nameOf(url),
  host: hostOf(url),
  port: Number(url.port || (url.protocol === "https:" ? 443 : 80)),
});

/** Read once each: some are sent to thousands of times. */
const targets = new Map<string, Target>();
const MAX_TARGETS = 1_000;

function readTarget(text: string): Target {
  const known = targets.get(text);
  if (known) return known;
  const target = targetOf(readUrl(text));
  if (targets.size >= MAX_TARGETS) targets.clear();
  targets.set(text, target);
  return target;
}

/** By their names in lower case. */
type HeaderRecord = Record<string, string>;

/** One request of an exchange; a redirect makes the next one. */
interface Hop extends Readonly<Target> {
  method: string;
  headers: HeaderRecord;
  body: EgressRequest["body"];
  isRaw: boolean;
}

async function exchange(
  gate: Gate,
  ca: string | undefined,
  address: string,
  request: EgressRequest,
): Promise<EgressResponse> {
  let hop = firstHop(address, request);
  const maxRedirects = request.maxRedirects ?? MAX_REDIRECTS;
  const limits = { timeoutMs: request.timeoutMs ?? TIMEOUT_MS, idleMs: request.idleMs ?? 0 };
  const deadline = openDeadline(request.signal, limits, hop.name);
  const explain = (error: unknown) =>
    deadline.signal.aborted ? deadline.signal.reason : failureOf(error, hop.url);
  try {
    for (let redirects = 0; ; redirects++) {
      const response = await deadline.hear(send(gate, request.authorities ?? ca, hop, deadline.signal));
      const mayMove = maxRedirects > 0 && REDIRECTS.has(response.status);
      const location = mayMove ? response.headers.get("location") : null;
      if (location === null) {
        return answer(response, hop, deadline, explain);
      }
      await response.body?.cancel();
      if (redirects >= maxRedirects) {
        throw new AppError("upstream", `${hop.name} redirected more than ${maxRedirects} times.`);
      }
      hop = redirected(hop, response.status, location, request.credentialHeaders);
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
  const target = readTarget(address);
  const headers = headersOf(request.headers ?? {}, request.body instanceof ReadableStream);
  headers["user-agent"] ??= "Weir";
  return { ...target, method, headers, body: request.body, isRaw: request.isRaw ?? false };
}

/** What may be sent of `given`; only of a stream is the length not known here, such as for an upload to S3. */
function headersOf(given: HeaderRecord, isStream: boolean): HeaderRecord {
  const headers: HeaderRecord = Object.create(null);
  for (const name in given) {
    const { lower, isOfConnection, isPlain } = readName(name);
    if (isOfConnection || (lower === "content-length" && !isStream)) continue;
    const value = given[name] ?? "";
    headers[lower] = isPlain && PLAIN_VALUE.test(value) ? value : headerValue(name, value);
  }
  return headers;
}

/** Names of headers, read once each: most requests have the same ones. */
const headerNames = new Map<string, { lower: string; isOfConnection: boolean; isPlain: boolean }>();
const MAX_NAMES = 1_000;
const PLAIN_VALUE = /^[!-~](?:[ -~]*[!-~])?$/;

function readName(name: string) {
  const known = headerNames.get(name);
  if (known) return known;
  const lower = name.toLowerCase();
  const read = { lower, isOfConnection: CONNECTION_HEADERS.has(lower), isPlain: /^[\w-]+$/.test(name) };
  if (headerNames.size >= MAX_NAMES) headerNames.clear();
  headerNames.set(name, read);
  return read;
}

/** What is odd is read, or refused, as `Headers` would do it. */
function headerValue(name: string, value: string): string {
  try {
    return new Headers([[name, value]]).get(name) ?? "";
  } catch (cause) {
    throw new AppError("bad_request", `The header ${JSON.stringify(name)} can't be sent.`, { cause });
  }
}

/** Connects to the checked address, with the name in Host and, for the certificate, in SNI. */
async function send(gate: Gate, ca: string | undefined, hop: Hop, signal: AbortSignal): Promise<Response> {
  const { url, host, port, method, body, headers, isRaw } = hop;
  signal.throwIfAborted();
  const proxy = await gate.proxyFor(host, port);
  const addresses = proxy === null ? await gate.admit(host, port, signal) : [host];
  headers.host = hop.name;
  // Bun 1.4.5 keeps connections by address, port, name of SNI and certificates: none is shared by two names.
  const tls = { ...(isIP(host) ? {} : { serverName: host }), ...(ca === undefined ? {} : { ca }) };
  // Without `proxy: false` Bun obeys HTTP_PROXY; without `timeout: false` it ends a quiet stream after five minutes.
  const own = {
    method,
    headers,
    body,
    redirect: "manual" as const,
    signal,
    tls,
    proxy: proxy ?? false,
    timeout: false,
    ...(isRaw ? { decompress: false } : {}),
  };
  for (const address of addresses) {
    const target = address === host && url.hash === "" ? url : pinned(url, address);
    try {
      return await fetch(target, own as RequestInit);
    } catch (error) {
      const unreached = error instanceof Error && "code" in error && error.code === "ECONNREFUSED";
      if (!unreached || address === addresses.at(-1) || body instanceof ReadableStream) throw error;
    }
  }
  throw new AppError("upstream", `${hop.name} has no address.`, { retryable: true });
}

/** The address, without the part that is not sent. */
function pinned(url: URL, address: string): URL {
  const target = new URL(url);
  target.hostname = isIP(address) === 6 ? `[${address}]` : address;
  target.hash = "";
  return target;
}

function redirected(
  hop: Hop,
  status: number,
  location: string,
  credentialHeaders: readonly string[] = [],
): Hop {
  const from = hop.name;
  const url = readUrl(location, hop.url);
  const target = targetOf(url);
  if (hop.url.protocol === "https:" && url.protocol === "http:") {
    throw new AppError(
      "egress_blocked",
      `${from} redirected from https to http (${target.name}), which isn't allowed.`,
    );
  }
  const asGet = (status === 303 && hop.method !== "HEAD") || (status < 303 && hop.method === "POST");
  const isElsewhere = url.origin !== hop.url.origin;
  const own = new Set(credentialHeaders.map((one) => one.toLowerCase()));
  const headers: HeaderRecord = Object.create(null);
  for (const one in hop.headers) {
    const isLeft =
      (isElsewhere && (CREDENTIALS.test(one) || own.has(one))) || (asGet && one.startsWith("content-"));
    if (!isLeft) headers[one] = hop.headers[one] ?? "";
  }
  if (asGet) return { ...target, method: "GET", headers, body: undefined, isRaw: hop.isRaw };
  if (hop.body instanceof ReadableStream) {
    throw new AppError("upstream", `${from} redirected a streamed body, which can't be sent a second time.`);
  }
  return { ...hop, ...target, headers };
}

function answer(
  response: Response,
  { url, method, isRaw }: Hop,
  deadline: Deadline,
  explain: (error: unknown) => unknown,
): EgressResponse {
  const { headers } = response;
  const length = headers.get("content-length");
  const isPlain = !headers.has("content-encoding") && !headers.has("transfer-encoding");
  /** Only its own length bounds a reply: one that is decoded or comes in chunks may be longer. */
  const isShorter = (bytes: number) => isPlain && length !== null && Number(length) <= bytes;

  let body: ReadableStream<Uint8Array> | null = null;
  const open = () => {
    if (body !== null) return body;
    body = watchBody(response.body, deadline, explain);
    return body;
  };
  // Where nothing comes nobody needs to read, so that the deadline is over by itself.
  if (length === null || length === "0" || method === "HEAD" || BODILESS.has(response.status)) open();

  return {
    status: response.status,
    headers: isPlain || isRaw ? headers : decodedHeaders(response),
    url: url.href,
    get body() {
      return open();
    },
    async bytes(maxBytes) {
      if (body !== null || deadline.isIdleLimited || !isShorter(maxBytes))
        return readAtMost(open(), maxBytes);
      try {
        return { bytes: await response.bytes(), truncated: false };
      } catch (error) {
        throw explain(error);
      } finally {
        deadline.close();
      }
    },
  };
}

function decodedHeaders(response: Response): Headers {
  const headers = new Headers(response.headers);
  if (response.body !== null && DECODED.test(headers.get("content-encoding") ?? "")) {
    headers.delete("content-encoding");
    headers.delete("content-length");
  }
  return headers;
}

/** The message says no more of the address than its host, as the rest may be secret. */
function readUrl(text: string, base?: URL): URL {
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

/** Brings a bare host to the form in which `URL` writes it, so that 0x7f.1 is seen as what it is. */
function readHost(host: string): string {
  const bracketed = isIP(host) === 6 ? `[${host}]` : host;
  if (/^(\[[^\]]+\]|[^\s/?#@:\\]+)$/.test(bracketed) && URL.canParse(`http://${bracketed}/`)) {
    return hostOf(new URL(`http://${bracketed}/`));
  }
  throw new AppError("bad_request", `${JSON.stringify(host)} is not a hostname or IP address.`);
}

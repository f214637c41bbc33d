import { isIP } from "node:net";
import { type Addresses, type EgressOptions, type Gate, hostOf, openGate } from "./egress-gate.ts";
import { Deadline, failureOf, readAtMost, watchBody } from "./egress-limits.ts";
import { pinned, readTarget, readUrl, type Target, targetOf } from "./egress-target.ts";
import { AppError } from "./errors.ts";

export type { EgressOptions };

/** An outgoing request. Its address is checked and pinned, redirects are followed manually. */
export interface EgressRequest {
  method?: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;
  /** Applies to every hop and to the body. */
  signal?: AbortSignal;
  /** Milliseconds for the whole exchange, including the body. Default: 60,000. 0 means no limit. */
  timeoutMs?: number;
  /** Maximum milliseconds of silence while a response is awaited. Default: no limit. */
  idleMs?: number;
  /** Maximum number of redirects. 0 returns the redirect itself. Default: 5. */
  maxRedirects?: number;
  /** Custom headers with credentials. Like the standard ones, they are sent to no other origin. */
  credentialHeaders?: readonly string[];
  /** Certificate authorities for the server, as PEM, instead of the trusted ones. */
  authorities?: string;
  /** True returns the body as it was sent, without decoding `content-encoding`, for copies with identical bytes. */
  isRaw?: boolean;
}

export interface EgressResponse {
  status: number;
  headers: Headers;
  /** URL of the last hop. */
  url: string;
  /** True if a redirect with 301 or 302 turned a POST into a GET, without the body. */
  lostBody: boolean;
  /** Whether the body was encoded in transit or in storage, so that its length differs from the one sent. */
  isDecoded: boolean;
  /** Decoded bytes. Read it, or cancel it. */
  body: ReadableStream<Uint8Array>;
  /** Reads the whole body, at most `maxBytes` after decoding. `truncated` means that there was more. */
  bytes(maxBytes: number): Promise<{ bytes: Uint8Array; truncated: boolean }>;
}

/** A checked address, to connect to instead of the name. */
interface PinnedAddress {
  address: string;
  family: 4 | 6;
}

/**
 * The only way to make outgoing requests.
 *
 * Throws `egress_blocked` naming the address and the setting,
 * `upstream` (retryable) if the other side can't be reached, `timeout` (retryable), and the signal's reason.
 */
export interface Egress {
  fetch(url: string, request?: EgressRequest): Promise<EgressResponse>;
  /** Resolves and checks a host for clients of other protocols, which connect to the returned address. */
  pin(host: string, port: number): Promise<PinnedAddress>;
  /**
   * Throws `egress_blocked` if the machine at the address `via`, which connects to `host` for Weir,
   * would reach Weir or a service of its own. A machine at a public address is in another network.
   */
  refuseOwn(host: string, port: number, via: string): Promise<void>;
}

const TIMEOUT_MS = 60_000;
const MAX_REDIRECTS = 5;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** Responses without a body. */
const BODILESS = new Set([204, 205, 304]);
/** Set by the connection itself. Values from the caller could enable request smuggling. */
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
/** Not sent to another origin. */
const CREDENTIALS =
  /auth|cookie|token|secret|passw|credential|session|signature|jwt|csrf|(api|access)[-_]?key|(?<!^idempotency)[-_]key$/;
/** Encodings that Bun's `fetch` decodes. A list of two isn't decoded. */
const DECODED = /^(gzip|x-gzip|deflate|br|zstd)$/i;

/** Throws `bad_request` for an invalid entry of `allow`. */
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

/** By lowercase name. */
type HeaderRecord = Record<string, string>;

/** One request of an exchange. Each redirect is another hop. */
interface Hop {
  target: Target;
  method: string;
  headers: HeaderRecord;
  body: EgressRequest["body"];
  isRaw: boolean;
  /** Whether a redirect dropped the body of a POST. One with 303 is meant to. */
  lostBody: boolean;
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
  const deadline = new Deadline(request.signal, limits, hop.target.name);
  const explain = (error: unknown) =>
    deadline.signal.aborted ? deadline.signal.reason : failureOf(error, hop.target.url);
  try {
    for (let redirects = 0; ; redirects++) {
      const response = await deadline.hear(send(gate, request.authorities ?? ca, hop, deadline.signal));
      const mayMove = maxRedirects > 0 && REDIRECTS.has(response.status);
      const location = mayMove ? response.headers.get("location") : null;
      if (location === null) {
        return new Reply(response, hop, deadline, explain);
      }
      await response.body?.cancel();
      if (redirects >= maxRedirects) {
        throw new AppError("upstream", `${hop.target.name} redirected more than ${maxRedirects} times.`);
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
  return { target, method, headers, body: request.body, isRaw: request.isRaw ?? false, lostBody: false };
}

/** Drops headers that the caller can't set. A length is kept only for streams, such as uploads to S3. */
function headersOf(callerHeaders: HeaderRecord, isStream: boolean): HeaderRecord {
  const headers: HeaderRecord = Object.create(null);
  for (const name in callerHeaders) {
    const { lower, isOfConnection, isPlain } = readName(name);
    if (isOfConnection || (lower === "content-length" && !isStream)) continue;
    const value = callerHeaders[name] ?? "";
    headers[lower] = isPlain && PLAIN_VALUE.test(value) ? value : headerValue(name, value);
  }
  return headers;
}

/** Header names, parsed once each. Most requests use the same ones. */
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

/** Unusual values are normalized or rejected as `Headers` does. */
function headerValue(name: string, value: string): string {
  try {
    return new Headers([[name, value]]).get(name) ?? "";
  } catch (cause) {
    throw new AppError("bad_request", `The header ${JSON.stringify(name)} can't be sent.`, { cause });
  }
}

/** Sends to a checked address. Throws or rejects if there is none. */
function send(gate: Gate, ca: string | undefined, hop: Hop, signal: AbortSignal): Promise<Response> {
  const { host, port } = hop.target;
  signal.throwIfAborted();
  const byProxy = gate.proxyFor(host, port);
  const admitted =
    byProxy === null
      ? gate.admit(host, port, signal)
      : byProxy.then((proxy) => (proxy === null ? gate.admit(host, port, signal) : proxy));
  if (admitted instanceof Promise) return admitted.then((found) => connect(hop, ca, found, signal));
  return connect(hop, ca, admitted, signal);
}

/** Connects to one of the addresses or to the proxy, with the name in Host and in SNI (for the certificate). */
function connect(
  { target, method, body, headers, isRaw }: Hop,
  ca: string | undefined,
  to: Addresses | string,
  signal: AbortSignal,
): Promise<Response> {
  headers.host = target.name;
  // Without `proxy: false`, Bun uses HTTP_PROXY. Without `timeout: false`, it ends a silent stream after five minutes.
  const own = {
    method,
    headers,
    body,
    redirect: "manual" as const,
    signal,
    // Bun 1.4.5 pools connections by address, port, SNI name and certificates, so names don't share them.
    tls: ca === undefined ? target.tls : { ...target.tls, ca },
    proxy: typeof to === "string" ? to : false,
    timeout: false,
    decompress: !isRaw,
  };
  const first = typeof to === "string" ? target.host : to[0];
  const response = fetch(pinned(target, first), own as RequestInit);
  if (typeof to === "string" || to.length === 1 || body instanceof ReadableStream) return response;
  const [, ...others] = to;
  return others.reduce(
    (reached, address) =>
      reached.catch((error: unknown) => {
        if (!isRefused(error)) throw error;
        return fetch(pinned(target, address), own as RequestInit);
      }),
    response,
  );
}

const isRefused = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "ECONNREFUSED";

function redirected(
  hop: Hop,
  status: number,
  location: string,
  credentialHeaders: readonly string[] = [],
): Hop {
  const from = hop.target.name;
  const url = readUrl(location, hop.target.url);
  const target = targetOf(url);
  if (hop.target.url.protocol === "https:" && url.protocol === "http:") {
    throw new AppError(
      "egress_blocked",
      `${from} redirected from https to http (${target.name}), which isn't allowed.`,
    );
  }
  const asGet = (status === 303 && hop.method !== "HEAD") || (status < 303 && hop.method === "POST");
  const isElsewhere = url.origin !== hop.target.url.origin;
  const own = new Set(credentialHeaders.map((one) => one.toLowerCase()));
  const headers: HeaderRecord = Object.create(null);
  for (const one in hop.headers) {
    const isLeft =
      (isElsewhere && (CREDENTIALS.test(one) || own.has(one))) || (asGet && one.startsWith("content-"));
    if (!isLeft) headers[one] = hop.headers[one] ?? "";
  }
  if (asGet) {
    const lostBody = hop.lostBody || (status < 303 && hop.body !== undefined);
    return { target, method: "GET", headers, body: undefined, isRaw: hop.isRaw, lostBody };
  }
  if (hop.body instanceof ReadableStream) {
    throw new AppError("upstream", `${from} redirected a streamed body, which can't be sent a second time.`);
  }
  return { ...hop, target, headers };
}

class Reply implements EgressResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly isDecoded: boolean;
  readonly #response: Response;
  readonly #hop: Hop;
  readonly #deadline: Deadline;
  readonly #explain: (error: unknown) => unknown;
  /** Content-Length, if it limits the body. Null for decoded or chunked responses, which can be longer. */
  readonly #length: number | null;
  #body: ReadableStream<Uint8Array> | null = null;

  constructor(response: Response, hop: Hop, deadline: Deadline, explain: (error: unknown) => unknown) {
    const { headers } = response;
    const length = headers.get("content-length");
    const isPlain = !headers.has("content-encoding") && !headers.has("transfer-encoding");
    this.status = response.status;
    this.isDecoded = !hop.isRaw && isDecoded(response);
    this.headers = this.isDecoded ? decodedHeaders(headers) : headers;
    this.#response = response;
    this.#hop = hop;
    this.#deadline = deadline;
    this.#explain = explain;
    this.#length = isPlain && length !== null ? Number(length) : null;
    // Without a body, nobody needs to read, so the deadline must end by itself.
    const isEmpty = length === null || length === "0" || BODILESS.has(response.status);
    if (isEmpty || hop.method === "HEAD") this.#open();
  }

  get url(): string {
    return this.#hop.target.url.href;
  }

  get lostBody(): boolean {
    return this.#hop.lostBody;
  }

  get body(): ReadableStream<Uint8Array> {
    return this.#open();
  }

  async bytes(maxBytes: number): Promise<{ bytes: Uint8Array; truncated: boolean }> {
    const isShort = this.#length !== null && this.#length <= maxBytes;
    if (this.#body !== null || this.#deadline.isIdleLimited || !isShort)
      return readAtMost(this.#open(), maxBytes);
    try {
      return { bytes: await this.#response.bytes(), truncated: false };
    } catch (error) {
      throw this.#explain(error);
    } finally {
      this.#deadline.close();
    }
  }

  #open(): ReadableStream<Uint8Array> {
    this.#body ??= watchBody(this.#response.body, this.#deadline, this.#explain);
    return this.#body;
  }
}

const isDecoded = ({ body, headers }: Response): boolean =>
  body !== null && DECODED.test(headers.get("content-encoding") ?? "");

function decodedHeaders(sent: Headers): Headers {
  const headers = new Headers(sent);
  headers.delete("content-encoding");
  headers.delete("content-length");
  return headers;
}

/** Normalizes a bare host as `URL` does, so that 0x7f.1 is recognized. */
function readHost(host: string): string {
  const bracketed = isIP(host) === 6 ? `[${host}]` : host;
  if (/^(\[[^\]]+\]|[^\s/?#@:\\]+)$/.test(bracketed) && URL.canParse(`http://${bracketed}/`)) {
    return hostOf(new URL(`http://${bracketed}/`));
  }
  throw new AppError("bad_request", `${JSON.stringify(host)} is not a hostname or IP address.`);
}

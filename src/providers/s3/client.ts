import type { EgressResponse } from "../../base/egress.ts";
import { AppError } from "../../base/errors.ts";
import { isChanged, QUIET_MS } from "../files/streams.ts";
import { faultOf, refusal } from "./failure.ts";
import { regionOf, type S3Link, urlOf } from "./shape.ts";
import { Signer } from "./signer.ts";
import { type Element, readXml } from "./xml.ts";

/** Maximum attempts of a request if the store is busy, failing or unreachable. */
const MAX_ATTEMPTS = 4;

/** The first pause; it doubles each time, and up to half of it is random. */
const FIRST_WAIT_MS = 200;

/** Enough for a thousand keys of maximum length, escaped. */
const MAX_XML_BYTES = 16 * 1024 * 1024;

/** Used instead of a body's hash, and always in presigned URLs. */
const UNSIGNED = "UNSIGNED-PAYLOAD";
const EMPTY_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

export interface S3Request {
  method: "GET" | "HEAD" | "PUT" | "POST" | "DELETE";
  /** Empty for the bucket itself. */
  key: string;
  query?: Readonly<Record<string, string>>;
  headers?: Readonly<Record<string, string>>;
  body?: Uint8Array<ArrayBuffer>;
  /** The signature doesn't cover the body: hashing a large one costs as much as sending it. */
  isUnsigned?: boolean;
  /** The response is a file: its transfer is limited only by the link's signal. */
  long?: boolean;
  /** The bytes as stored, without decoding. */
  isRaw?: boolean;
  /** Replaces the link's signal, for cleanup after an abort. */
  signal?: AbortSignal;
}

/**
 * Sends one signed request, with retries if the store is busy or fails. Returns 2xx responses; throws the error from
 * `refusal` for all others.
 */
export async function send(link: S3Link, request: S3Request): Promise<EgressResponse> {
  const signal = request.signal ?? link.signal;
  for (let attempt = 1; ; attempt++) {
    const reply = await sendOnce(link, request, signal).catch((error: unknown) => {
      if (error instanceof AppError && isPassing(error) && !signal.aborted) return error;
      throw error;
    });
    if (!(reply instanceof AppError)) return reply;
    if (attempt === MAX_ATTEMPTS) throw reply;
    const wait = FIRST_WAIT_MS * 2 ** (attempt - 1);
    await link.clock.sleep(wait / 2 + Math.random() * (wait / 2), signal);
    signal.throwIfAborted();
  }
}

/** Whether a retry may succeed; not for a file that has changed. */
const isPassing = (error: AppError) => error.retryable && !isChanged(error);

async function sendOnce(link: S3Link, request: S3Request, signal: AbortSignal): Promise<EgressResponse> {
  const url = urlOf(link.config, request.key, request.query);
  const response = await link.egress.fetch(url, {
    method: request.method,
    headers: await sign(link, url, request),
    ...(request.body ? { body: request.body } : {}),
    signal,
    ...(request.long ? { timeoutMs: 0 } : {}),
    ...(request.long && request.method === "GET" ? { idleMs: QUIET_MS } : {}), // a copy sends nothing until it is complete
    ...(request.isRaw ? { isRaw: true } : {}),
    ...(link.config.sslRootCert === undefined ? {} : { authorities: link.config.sslRootCert }),
    maxRedirects: 0, // a redirect means another region, for which the signature is invalid
  });
  if (response.status >= 200 && response.status < 300) return response;
  throw refusal(link, request, response.status, response.headers, await faultOf(response));
}

/** Signing keys of a day, derived from a link's credentials and dropped with it. */
const signingKeys = new WeakMap<object, Map<string, ArrayBuffer>>();

function keysOf({ credentials }: S3Link): Map<string, ArrayBuffer> {
  const known = signingKeys.get(credentials) ?? new Map<string, ArrayBuffer>();
  signingKeys.set(credentials, known);
  return known;
}

function hashOf({ body, isUnsigned }: S3Request): string {
  if (!body) return EMPTY_SHA256;
  return isUnsigned ? UNSIGNED : new Bun.CryptoHasher("sha256").update(body).digest("hex");
}

async function sign(link: S3Link, url: string, request: S3Request): Promise<Record<string, string>> {
  const { accessKeyId, secretAccessKey, sessionToken } = link.credentials;
  const signer = new Signer({
    method: request.method,
    url,
    headers: {
      ...request.headers,
      "x-amz-content-sha256": hashOf(request),
    },
    accessKeyId,
    secretAccessKey,
    ...(sessionToken ? { sessionToken } : {}),
    service: "s3",
    cache: keysOf(link),
    region: regionOf(link.config),
    datetime: link.clock
      .now()
      .toISOString()
      .replace(/[:-]|\.\d{3}/g, ""),
  });
  const signed = await signer.sign();
  return Object.fromEntries(signed.headers.entries());
}

/** The XML of a response. Throws `upstream` if it isn't valid for S3. */
export async function readReply(response: EgressResponse): Promise<Element> {
  const { bytes, truncated } = await response.bytes(MAX_XML_BYTES);
  if (truncated) throw new AppError("upstream", "The object store's response is too long.");
  return readXml(new TextDecoder().decode(bytes));
}

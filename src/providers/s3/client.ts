import { AwsV4Signer } from "aws4fetch";
import type { EgressResponse } from "../../base/egress.ts";
import { AppError } from "../../base/errors.ts";
import { isChanged, QUIET_MS } from "../files/streams.ts";
import { faultOf, refusal } from "./failure.ts";
import { regionOf, type S3Link, urlOf } from "./shape.ts";
import { type Element, readXml } from "./xml.ts";

/** Maximum attempts of a request if the store is busy, failing or unreachable. */
const MAX_ATTEMPTS = 4;

/** The first wait; each next one is twice as long, and up to a half of it is by chance. */
const FIRST_WAIT_MS = 200;

/** A thousand keys of the longest kind, escaped. */
const MAX_XML_BYTES = 16 * 1024 * 1024;

/** In place of a body's hash; what presigned addresses always have. */
const UNSIGNED = "UNSIGNED-PAYLOAD";
const EMPTY_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

export interface S3Request {
  method: "GET" | "HEAD" | "PUT" | "POST" | "DELETE";
  /** Empty for the bucket itself. */
  key: string;
  query?: Readonly<Record<string, string>>;
  headers?: Readonly<Record<string, string>>;
  body?: Uint8Array<ArrayBuffer>;
  /** The signature leaves the body out: hashing a large one costs as much as sending it. */
  isUnsigned?: boolean;
  /** The reply is a file: no limit on its time but the link's signal. */
  long?: boolean;
  /** The reply's bytes as they are stored, whatever coding they have. */
  isRaw?: boolean;
  /** Replaces the link's signal, for cleanup after an abort. */
  signal?: AbortSignal;
}

/**
 * Sends one signed request, again when the store says to slow down or fails. Gives replies of 2xx;
 * throws what `refusal` makes of any other.
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

/** Whether the same request may go well in a moment; a file that has become another stays another. */
const isPassing = (error: AppError) => error.retryable && !isChanged(error);

async function sendOnce(link: S3Link, request: S3Request, signal: AbortSignal): Promise<EgressResponse> {
  const url = urlOf(link.config, request.key, request.query);
  const response = await link.egress.fetch(url, {
    method: request.method,
    headers: await sign(link, url, request),
    ...(request.body ? { body: request.body } : {}),
    signal,
    ...(request.long ? { timeoutMs: 0 } : {}),
    ...(request.long && request.method === "GET" ? { idleMs: QUIET_MS } : {}), // a copy is silent until it is made
    ...(request.isRaw ? { isRaw: true } : {}),
    ...(link.config.sslRootCert === undefined ? {} : { authorities: link.config.sslRootCert }),
    maxRedirects: 0, // a redirect means another region, and a signature holds for one
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
  const signer = new AwsV4Signer({
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

/** The XML of a reply. Throws `upstream` where it is not what S3 sends. */
export async function readReply(response: EgressResponse): Promise<Element> {
  const { bytes, truncated } = await response.bytes(MAX_XML_BYTES);
  if (truncated) throw new AppError("upstream", "The object store's answer is too long.");
  return readXml(new TextDecoder().decode(bytes));
}

import { timestamp } from "../../base/clock.ts";
import type { EgressResponse } from "../../base/egress.ts";
import { AppError } from "../../base/errors.ts";
import { hideSecrets } from "../../base/hide.ts";
import { type Json, parseJson } from "../../base/json.ts";
import { maskSecrets } from "../../base/mask.ts";
import { tracedEgress, traceIdOf } from "../../base/trace.ts";
import type { App } from "../../context.ts";
import { type Secrets, signMessage } from "../../crypto/signature.ts";
import type { RunError } from "../runs/table.ts";
import { secretsOf } from "./subscriptions.ts";
import type { LeasedDelivery } from "./take.ts";

/** Result of one attempt. */
export interface Attempt {
  taken: LeasedDelivery;
  startedAt: string;
  durationMs: number;
  /** Null without a response. */
  replyCode: number | null;
  replyExcerpt: string | null;
  /** Null after success. */
  error: RunError | null;
  /** What the receiver requested with `Retry-After`. */
  retryAfterSeconds: number | null;
}

const EXCERPT_BYTES = 1024;
const decoder = new TextDecoder();

/** Posts a JSON text with current signatures. Doesn't follow redirects. */
export function postSigned(
  app: Pick<App, "clock" | "egress">,
  message: { url: string; id: string; body: string; secrets: Secrets },
  options: { timeoutMs: number; signal?: AbortSignal },
): Promise<EgressResponse> {
  const { url, id, body, secrets } = message;
  const seconds = Math.floor(app.clock.now().getTime() / 1000);
  return app.egress.fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...signMessage(secrets, id, seconds, body) },
    body,
    maxRedirects: 0,
    timeoutMs: options.timeoutMs,
    signal: options.signal,
  });
}

/**
 * Sends a delivery once. Null if `signal` aborted it. The message ID is that of the event, however often it is sent.
 */
export async function sendOnce(
  app: App,
  taken: LeasedDelivery,
  signal?: AbortSignal,
): Promise<Attempt | null> {
  const { subscription, event, delivery } = taken;
  const startedAt = timestamp(app.clock);
  const startedMs = app.clock.monotonic();
  const secrets = secretsOf(app, subscription.row);
  const durationMs = () => Math.max(0, Math.round(app.clock.monotonic() - startedMs));
  const attempt = delivery.attempts + 1;
  try {
    const message = { url: subscription.url, id: event.id, body: event.body, secrets };
    const timeoutMs = app.config.webhookTimeout * 1000;
    const reply = await postSigned(outFor(app, event), message, { timeoutMs, signal });
    const { bytes } = await reply.bytes(EXCERPT_BYTES);
    const replyCode = reply.status;
    const isDone = replyCode >= 200 && replyCode <= 299;
    return {
      taken,
      startedAt,
      durationMs: durationMs(),
      replyCode,
      replyExcerpt: excerptOf(bytes, secrets),
      error: isDone ? null : unexpected(replyCode, attempt),
      retryAfterSeconds: isDone ? null : retryAfter(app, reply.headers.get("retry-after")),
    };
  } catch (error) {
    if (signal?.aborted) return null;
    if (!(error instanceof AppError))
      app.log.report(error, { at: "send a delivery", deliveryId: delivery.id });
    return {
      taken,
      startedAt,
      durationMs: durationMs(),
      replyCode: null,
      replyExcerpt: null,
      error: failure(error, attempt, secrets),
      retryAfterSeconds: null,
    };
  }
}

/** Requests for an event belong to the trace of its cause. */
function outFor(
  app: App,
  { organizationId, correlationId }: LeasedDelivery["event"],
): Pick<App, "clock" | "egress"> {
  const egress = app.egressFor(organizationId);
  if (!app.tracer.isOn) return { clock: app.clock, egress };
  const parent = { traceId: traceIdOf(correlationId), spanId: null };
  return { clock: app.clock, egress: tracedEgress(egress, app.tracer, app.clock, parent) };
}

function unexpected(status: number, attempt: number): RunError {
  const isRedirect = status >= 300 && status <= 399;
  const message = `The receiver returned ${status}${isRedirect ? ". Redirects are not followed" : ""}.`;
  return { code: "unexpected_status", message, retryable: true, attempt, details: { status } };
}

function failure(error: unknown, attempt: number, secrets: readonly string[]): RunError {
  const isKnown = error instanceof AppError;
  const message = isKnown ? error.message : "Internal error. See the server log.";
  return {
    code: isKnown ? error.code : "internal",
    message: hideSecrets(message, secrets),
    retryable: true,
    attempt,
    details: null,
  };
}

/** Parses a number of seconds or a date to seconds. Null if it is missing or neither. */
function retryAfter({ clock }: App, text: string | null): number | null {
  if (text === null) return null;
  if (/^\s*\d+\s*$/.test(text)) return Number(text);
  if (!/^\s*[a-z]/i.test(text)) return null; // "-3600" would be parsed as a year.
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : Math.max(0, (at - clock.now().getTime()) / 1000);
}

/** Returns the beginning of the response, safe to show. */
function excerptOf(bytes: Uint8Array, secrets: readonly string[]): string | null {
  if (bytes.length === 0) return null;
  const text = decoder.decode(bytes);
  if (/^\w{0,4}$/.test(text)) return text; // Most responses are "ok".
  return hideSecrets(masked(text.replaceAll("\0", "\uFFFD")), secrets);
}

/** Masks JSON by its field names, even if it is cut off. */
function masked(text: string): string {
  if (!/^\s*[[{]/.test(text)) return String(maskSecrets(text));
  try {
    return JSON.stringify(maskSecrets(parseJson(text)));
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return String(maskSecrets(text)).replace(FIELD, (whole, name: string) =>
      hidesField(name) ? `"${name}":"***"` : whole,
    );
  }
}

/** A field of JSON text with a scalar value, which may lack its closing quote at the end. */
const FIELD = /"([^"\\]{1,100})"\s*:\s*(?:"(?:[^"\\]|\\.)*(?:"|\\?$)|[^\s"{}[\],]+)/g;

const hidesField = (name: string): boolean => {
  const shown = maskSecrets({ [name]: "x" } as Json) as Record<string, Json>;
  return shown[name] !== "x";
};

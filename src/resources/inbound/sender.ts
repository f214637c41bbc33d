import { type KeyObject, verify } from "node:crypto";
import { AppError } from "../../base/errors.ts";
import type { App } from "../../context.ts";
import { PRESETS } from "../../crypto/presets.ts";
import { equalTexts, hmac, matchesSignature } from "../../crypto/signature.ts";
import type { SenderAuth } from "../automations/config.ts";
import { readPublicKey } from "../automations/sender.ts";
import type { Webhook } from "./gate.ts";

/** Maximum deviation of a signed timestamp. */
export const CLOCK_SKEW_SECONDS = 300;

/** A signature over a timestamp, which is accepted once. */
export interface Stamp {
  readonly sentAt: number;
  /** The signature, normalized to base64. */
  readonly signature: string;
}

interface Sent {
  readonly headers: Headers;
  readonly body: Uint8Array;
}

/**
 * Checks that a request comes from the webhook's sender. Returns its timestamp and signature, if it has both and the
 * sender has no message ID of its own. Throws `unauthenticated`.
 */
export function checkSender(app: App, webhook: Webhook, sent: Sent): Stamp | null {
  const { signaturePreset, auth = { type: "signature" } } = webhook.config;
  if (signaturePreset !== undefined) {
    const now = secondsNow(app);
    const fault = PRESETS[signaturePreset].fault({ ...sent, secret: secretOf(webhook), now });
    if (fault !== null) throw refused(fault);
    return null;
  }
  if (auth.type === "signature") return checkSignature(app, webhook, sent);
  if (auth.type === "ed25519") return checkEd25519(app, auth, sent);
  if (webhook.proof === null) throw refused("The automation has no secret of this sender yet.");
  const fault = proofFault(auth, webhook.proof, sent.headers);
  if (fault !== null) throw refused(fault);
  return null;
}

/** Headers with secrets shared by the sender and this webhook. */
export function secretHeaders({ config: { signaturePreset, auth } }: Webhook): readonly string[] {
  if (signaturePreset !== undefined) {
    const { header, sendsSecret } = PRESETS[signaturePreset];
    return sendsSecret ? [header.toLowerCase()] : [];
  }
  return auth?.type === "header" ? [auth.name.toLowerCase()] : [];
}

/** Checks an HMAC of the raw body, or of `{timestamp}.{body}` if `X-SVC-Timestamp` is sent. */
function checkSignature(app: App, webhook: Webhook, { headers, body }: Sent): Stamp | null {
  const { signatureHeader = "X-SVC-Signature", signatureAlgorithm = "sha256" } = webhook.config;
  const signature = headers.get(signatureHeader);
  if (signature === null) throw refused(`Missing signature: the request has no ${signatureHeader} header.`);
  const timestamp = headers.get("x-svc-timestamp");
  if (timestamp === null && webhook.needsTimestamp)
    throw refused(
      "Missing X-SVC-Timestamp header. Send the Unix time and sign {timestamp}.{body}, or set requireTimestamp to false.",
    );
  if (timestamp === null && beginsLikeTimestamp(body))
    throw refused("A body that starts with digits and a dot requires an X-SVC-Timestamp header.");
  if (timestamp !== null) checkFresh(app, timestamp, "X-SVC-Timestamp");
  const parts = timestamp === null ? [body] : [`${timestamp}.`, body];
  const expected = hmac(signatureAlgorithm, secretOf(webhook), ...parts);
  if (!matchesSignature(signature, expected, signatureAlgorithm))
    throw refused(
      `Invalid signature in ${signatureHeader}. Check the signing secret, and sign the raw request body.`,
    );
  return timestamp === null ? null : { sentAt: Number(timestamp), signature: expected.toString("base64") };
}

/** Otherwise, what was signed as `{timestamp}.{body}` would be accepted as a body without a timestamp. */
const beginsLikeTimestamp = (body: Uint8Array): boolean =>
  /^\d+\./.test(Buffer.from(body.subarray(0, 400)).toString("latin1"));

function checkEd25519(
  app: App,
  { publicKey, signatureHeader, timestampHeader }: SenderAuth & { type: "ed25519" },
  { headers, body }: Sent,
): Stamp | null {
  const headerText = headers.get(signatureHeader);
  if (headerText === null) throw refused(`Missing signature: the request has no ${signatureHeader} header.`);
  const timestamp = timestampHeader === undefined ? null : headers.get(timestampHeader);
  if (timestampHeader !== undefined) {
    if (timestamp === null) throw refused(`Missing ${timestampHeader} header.`);
    checkFresh(app, timestamp, timestampHeader);
  }
  const key: KeyObject | null = readPublicKey(publicKey);
  const signature = Buffer.from(headerText, /^[0-9a-f]{128}$/i.test(headerText) ? "hex" : "base64");
  const signed = timestamp === null ? body : Buffer.concat([Buffer.from(timestamp), body]);
  if (key === null || signature.length !== 64 || !verify(null, signed, key, signature))
    throw refused(
      `Invalid signature in ${signatureHeader}. Check the public key, and sign the raw request body.`,
    );
  return timestamp === null ? null : { sentAt: Number(timestamp), signature: signature.toString("base64") };
}

function proofFault(
  auth: Exclude<SenderAuth, { type: "signature" } | { type: "ed25519" }>,
  proof: string,
  headers: Headers,
): string | null {
  if (auth.type === "header") {
    const value = headers.get(auth.name);
    if (value === null) return `Missing ${auth.name} header.`;
    return equalTexts(value, proof) ? null : `Invalid value in ${auth.name}.`;
  }
  const header = headers.get("authorization") ?? "";
  const [scheme = "", credentials = ""] = header.trim().split(/ +/, 2);
  if (scheme.toLowerCase() !== auth.type) return `Missing Authorization header of type ${auth.type}.`;
  const expected = auth.type === "bearer" ? proof : `${auth.username}:${proof}`;
  const sent = auth.type === "bearer" ? credentials : Buffer.from(credentials, "base64").toString("utf8");
  return equalTexts(sent, expected) ? null : "Invalid Authorization header.";
}

function checkFresh(app: App, timestamp: string, header: string): void {
  const isFresh =
    /^\d{1,12}$/.test(timestamp) && Math.abs(secondsNow(app) - Number(timestamp)) <= CLOCK_SKEW_SECONDS;
  if (!isFresh)
    throw refused(
      `Invalid ${header}. Use the time of sending in Unix seconds, at most ${CLOCK_SKEW_SECONDS} s off.`,
    );
}

function secretOf({ secret }: Webhook): string {
  if (secret === null) throw new AppError("internal", "A signed webhook has no secret.");
  return secret;
}

export const refused = (message: string) => new AppError("unauthenticated", message);
const secondsNow = (app: App) => app.clock.now().getTime() / 1000;

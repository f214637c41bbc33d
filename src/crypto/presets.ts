import { equalBytes, equalTexts, hmac, standardKey } from "./signature.ts";

export const SIGNATURE_PRESETS = [
  "github",
  "stripe",
  "shopify",
  "slack",
  "standard",
  "svix",
  "gitlab",
  "telegram",
] as const;
export type SignaturePreset = (typeof SIGNATURE_PRESETS)[number];

/** What a sender signed, and the headers it sent. */
interface Signed {
  headers: Headers;
  body: Uint8Array;
  secret: string;
  /** Unix seconds. */
  now: number;
}

/**
 * How a well-known sender authenticates its requests, and which ID a redelivered message keeps. Signatures use SHA-256.
 * GitLab and Telegram send the secret itself.
 */
export interface Preset {
  /** The header with the signature or the secret. */
  readonly header: string;
  /** True if the header contains the secret itself, which must not be shown. */
  readonly sendsSecret?: boolean;
  /** Format of this sender's secrets, if they can be shorter than others. */
  readonly secret?: { readonly pattern: RegExp; readonly message: string };
  /** Returns what is wrong with the signature, as a sentence. Null if it is valid. */
  fault(signed: Signed): string | null;
  /** Location of the sender's message ID, which stays the same when the message is redelivered. */
  readonly repeatKey: readonly ["header" | "body", string];
}

/** The tolerance that all senders with a timestamp recommend. */
const TOLERANCE_SECONDS = 300;
/** More than a rotation of secrets needs. Further signatures are ignored. */
const MAX_SIGNATURES = 8;

const HEX = /^[0-9a-f]{64}$/i;
/** 32 bytes in base64. */
const BASE64 = /^[A-Za-z0-9+/]{43}=$/;

/** Decodes each well-formed signature in `texts`, without its prefix `strip`. */
function read(texts: readonly string[], strip: string, encoding: "hex" | "base64"): Buffer[] {
  const form = encoding === "hex" ? HEX : BASE64;
  return texts
    .filter((text) => text.startsWith(strip))
    .slice(0, MAX_SIGNATURES)
    .map((text) => text.slice(strip.length))
    .filter((text) => form.test(text))
    .map((text) => Buffer.from(text, encoding));
}

/** Returns a sentence unless one of `given` is the HMAC of `parts`. */
function compare(
  signatures: readonly Buffer[],
  header: string,
  key: string | Uint8Array,
  parts: (string | Uint8Array)[],
): string | null {
  const expected = hmac("sha256", key, ...parts);
  const fits = signatures.some((bytes) => equalBytes(bytes, expected));
  return fits
    ? null
    : `Invalid signature in ${header}. Check the signing secret, and sign the raw request body.`;
}

const missing = (header: string) => `Missing signature: the request has no ${header} header.`;

/** Returns a sentence unless `text` is a time in Unix seconds near `now`. */
const staleness = (text: string | undefined, now: number, name: string): string | null =>
  text !== undefined && /^\d{1,12}$/.test(text) && Math.abs(now - Number(text)) <= TOLERANCE_SECONDS
    ? null
    : `Invalid ${name}. Use the time of sending in Unix seconds, at most ${TOLERANCE_SECONDS} s off.`;

/** https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries */
const github: Preset = {
  header: "X-Hub-Signature-256",
  fault({ headers, body, secret }) {
    const header = headers.get(this.header);
    if (header === null) return missing(this.header);
    return compare(read([header], "sha256=", "hex"), this.header, secret, [body]);
  },
  repeatKey: ["header", "X-GitHub-Delivery"],
};

/** https://docs.stripe.com/webhooks#verify-manually */
const stripe: Preset = {
  header: "Stripe-Signature",
  fault({ headers, body, secret, now }) {
    const header = headers.get(this.header);
    if (header === null) return missing(this.header);
    const items = header.split(",").map((item) => item.trim());
    const time = items.find((item) => item.startsWith("t="))?.slice(2);
    const stale = staleness(time, now, `t in ${this.header}`);
    return stale ?? compare(read(items, "v1=", "hex"), this.header, secret, [`${time}.`, body]);
  },
  repeatKey: ["body", "id"],
};

/** https://shopify.dev/docs/apps/build/webhooks/subscribe/https */
const shopify: Preset = {
  header: "X-Shopify-Hmac-Sha256",
  fault({ headers, body, secret }) {
    const header = headers.get(this.header);
    if (header === null) return missing(this.header);
    return compare(read([header], "", "base64"), this.header, secret, [body]);
  },
  repeatKey: ["header", "X-Shopify-Webhook-Id"],
};

/** https://docs.slack.dev/authentication/verifying-requests-from-slack */
const slack: Preset = {
  header: "X-Slack-Signature",
  fault({ headers, body, secret, now }) {
    const header = headers.get(this.header);
    if (header === null) return missing(this.header);
    const time = headers.get("x-slack-request-timestamp") ?? undefined;
    const stale = staleness(time, now, "X-Slack-Request-Timestamp");
    return stale ?? compare(read([header], "v0=", "hex"), this.header, secret, [`v0:${time}:`, body]);
  },
  repeatKey: ["body", "event_id"],
};

/** https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md */
const standardWith = (prefix: string): Preset => ({
  header: `${prefix}-signature`,
  fault({ headers, body, secret, now }) {
    const header = headers.get(this.header);
    const id = headers.get(`${prefix}-id`);
    if (header === null) return missing(this.header);
    if (id === null) return missing(`${prefix}-id`);
    const time = headers.get(`${prefix}-timestamp`) ?? undefined;
    const stale = staleness(time, now, `${prefix}-timestamp`);
    const parts = [`${id}.${time}.`, body];
    return (
      stale ?? compare(read(header.split(" "), "v1,", "base64"), this.header, standardKey(secret), parts)
    );
  },
  repeatKey: ["header", `${prefix}-id`],
});

const secretIn = (header: string, repeatKey: Preset["repeatKey"], secret?: Preset["secret"]): Preset => ({
  header,
  sendsSecret: true,
  ...(secret ? { secret } : {}),
  fault({ headers, secret: expected }) {
    const value = headers.get(header);
    if (value === null) return `The request has no ${header} header.`;
    return equalTexts(value, expected) ? null : `Invalid secret in ${header}.`;
  },
  repeatKey,
});

/** https://docs.gitlab.com/user/project/integrations/webhooks/#delivery-headers */
const gitlab = secretIn("X-Gitlab-Token", ["header", "Idempotency-Key"]);

/** https://core.telegram.org/bots/api#setwebhook */
const telegram = secretIn("X-Telegram-Bot-Api-Secret-Token", ["body", "update_id"], {
  pattern: /^[A-Za-z0-9_-]{1,256}$/,
  message: "Telegram secrets have 1 to 256 characters: A-Z, a-z, 0-9, _ and -",
});

export const PRESETS: Readonly<Record<SignaturePreset, Preset>> = {
  github,
  stripe,
  shopify,
  slack,
  standard: standardWith("webhook"),
  svix: standardWith("svix"),
  gitlab,
  telegram,
};

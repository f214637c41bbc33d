import { createPublicKey, type KeyObject } from "node:crypto";
import { Type } from "@sinclair/typebox";
import { invalid } from "../../base/errors.ts";
import type { Json, JsonObject } from "../../base/json.ts";
import { proofFieldOf } from "../../base/sender-proof.ts";
import { described, object, optional } from "../../base/shape.ts";
import type { WriteContext } from "../../context.ts";
import type { AutomationConfig } from "./config.ts";
import type { AutomationRow } from "./table.ts";

const HEADER_NAME = "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$";
const headerName = (description: string) =>
  described(
    description,
    Type.String({ minLength: 1, maxLength: 100, pattern: HEADER_NAME, examples: ["X-Signature"] }),
  );
/** Only printable characters, since it is sent in a header. */
const proof = (description: string) =>
  described(
    description,
    Type.String({
      minLength: 8,
      maxLength: 512,
      pattern: "^[\\x21-\\x7e]+$",
      examples: ["9f3a1c47d2e85b60"],
    }),
  );

/** `config.auth`: how the sender of a webhook authenticates. */
export const SENDER_AUTH = Type.Union([
  object({
    type: Type.Literal("signature", { description: "HMAC of the body with the automation's secret" }),
  }),
  object({
    type: Type.Literal("bearer", { description: "Bearer token in the Authorization header" }),
    token: optional(proof("What follows `Bearer ` in Authorization; never shown again")),
  }),
  object({
    type: Type.Literal("basic", { description: "User name and password in the Authorization header" }),
    username: Type.String({
      minLength: 1,
      maxLength: 255,
      pattern: "^[^:\\x00-\\x1f]+$",
      description: "User name of the sender",
      examples: ["shop"],
    }),
    password: optional(
      described(
        "Password of the sender. Never shown again",
        Type.String({ minLength: 8, maxLength: 512, examples: ["correct-horse-battery"] }),
      ),
    ),
  }),
  object({
    type: Type.Literal("header", { description: "Secret value in a header" }),
    name: headerName("The header that the sender adds"),
    value: optional(proof("Its value; never shown again")),
  }),
  object({
    type: Type.Literal("ed25519", { description: "Ed25519 signature of the body" }),
    publicKey: described(
      "The sender's public key: 32 bytes in hex or base64, or PEM",
      Type.String({
        minLength: 43,
        maxLength: 1000,
        examples: ["d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"],
      }),
    ),
    signatureHeader: headerName("The header with the signature, in hex or base64"),
    timestampHeader: optional(
      headerName("The header with the time in Unix seconds that is signed before the body"),
    ),
  }),
]);

/** Whether requests are signed with the automation's secret. */
export const isSigned = ({ auth }: AutomationConfig): boolean =>
  auth === undefined || auth.type === "signature";

/**
 * Whether a signed request without a timestamp is rejected: if the config says so, if a request with a timestamp has
 * arrived, or if the automation is new enough and its config names no signature header.
 */
export const needsTimestamp = (
  { requireTimestamp, signatureHeader }: AutomationConfig,
  rule: AutomationRow["timestampRule"],
): boolean => rule === "seen" || (requireTimestamp ?? (rule === "new" && signatureHeader === undefined));

/** Parses a public key from hex, base64 or PEM. Null if it isn't one. */
export function readPublicKey(text: string): KeyObject | null {
  const bare = text.trim();
  try {
    const key = bare.startsWith("-----")
      ? createPublicKey(bare)
      : createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x: base64url(bare) }, format: "jwk" });
    return key.asymmetricKeyType === "ed25519" ? key : null;
  } catch {
    return null; // Not a key.
  }
}

const BARE_KEY = /^(?:[0-9a-f]{64}|[A-Za-z0-9+/_-]{43}=?)$/i;
const PEM_KEY = /^-----BEGIN PUBLIC KEY-----[A-Za-z0-9+/=\s]+-----END PUBLIC KEY-----$/;

/** Whether `text` is a public key and nothing else: Node also makes a public key from a private one. */
export const isPublicKey = (text: string): boolean =>
  [BARE_KEY, PEM_KEY].some((form) => form.test(text.trim())) && readPublicKey(text) !== null;

const base64url = (text: string) =>
  Buffer.from(text, /^[0-9a-f]{64}$/i.test(text) ? "hex" : "base64").toString("base64url");

/** Label for encrypting the sender's secret. */
export const authLabel = (row: { id: string; organizationId: string }) =>
  `automation-auth:${row.id}:${row.organizationId}`;

/** A config as stored, and the sender's secret from the request. */
export function withoutProof(config: JsonObject): { config: JsonObject; proof: string | null } {
  const field = proofFieldOf(config.auth);
  if (field === null) return { config, proof: null };
  const { [field]: value, ...rest } = config.auth as JsonObject;
  return { config: { ...config, auth: rest }, proof: typeof value === "string" ? value : null };
}

/** Throws `invalid` if the sender's secret is missing. */
export function refuseUnproven(auth: Json | undefined, sealedAuth: string | null): void {
  const field = proofFieldOf(auth);
  if (field === null || sealedAuth !== null) return;
  const message = `Give the ${field} that the sender authenticates with`;
  throw invalid(["body", "config", "auth", field], message, "missing");
}

/**
 * Returns the new `sealedAuth`: the given secret, or the existing one if the type stays the same. Null if there is
 * neither, as in a draft.
 */
export function sealAuth(
  tx: WriteContext,
  at: Pick<AutomationRow, "id" | "organizationId">,
  wanted: { config: JsonObject; proof: string | null },
  before: Pick<AutomationRow, "config" | "sealedAuth"> | null,
): string | null {
  const field = proofFieldOf(wanted.config.auth);
  if (field === null) return null;
  const kept = before && proofFieldOf(before.config.auth) === field ? before.sealedAuth : null;
  const label = authLabel(at);
  if (wanted.proof === null) return kept;
  if (kept !== null && tx.secrets.open(kept, label) === wanted.proof) return kept;
  return tx.secrets.seal(wanted.proof, label);
}

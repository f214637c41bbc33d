import { isObject, type Json } from "./json.ts";

/** The secret field of each type of a webhook's `config.auth`, if it has one. */
export const SENDER_PROOFS = { bearer: "token", basic: "password", header: "value" } as const;

/** Returns the secret field of `auth`. Null if it has none. */
export function proofFieldOf(auth: Json | undefined): "token" | "password" | "value" | null {
  const type = isObject(auth ?? null) ? (auth as { type?: Json }).type : undefined;
  return typeof type === "string" && Object.hasOwn(SENDER_PROOFS, type)
    ? SENDER_PROOFS[type as keyof typeof SENDER_PROOFS]
    : null;
}

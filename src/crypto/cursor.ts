import type { Clock } from "../base/clock.ts";
import { AppError, invalid } from "../base/errors.ts";
import { canonicalJson, type Json } from "../base/json.ts";
import type { SecretBox } from "./secretbox.ts";
import { equalBytes } from "./signature.ts";

const LIFETIME_MS = 24 * 60 * 60 * 1000;

/** What a cursor is bound to: the list, the organization and the filters. */
export type CursorScope = readonly Json[];

interface Signer {
  secrets: SecretBox;
  clock: Clock;
}

/** An opaque, signed text for `position`, good for 24 hours and for `scope` alone. */
export function makeCursor({ secrets, clock }: Signer, scope: CursorScope, position: Json): string {
  const body = Buffer.from(JSON.stringify([position, clock.now().getTime() + LIFETIME_MS])).toString(
    "base64url",
  );
  return `${body}.${secrets.sign(`${body}\n${canonicalJson(scope)}`, "cursor")}`;
}

/** The position that `makeCursor` was given. Throws `invalid` for an altered or foreign one, `cursor_expired`. */
export function readCursor({ secrets, clock }: Signer, scope: CursorScope, cursor: string): Json {
  const [body = "", signature = "", ...rest] = cursor.split(".");
  const expected = secrets.sign(`${body}\n${canonicalJson(scope)}`, "cursor");
  if (rest.length > 0 || !equalBytes(Buffer.from(signature), Buffer.from(expected))) {
    throw invalid(["query", "cursor"], "This cursor is not one that this list gave out", "cursor_invalid");
  }
  const [position, until] = JSON.parse(Buffer.from(body, "base64url").toString("utf8")) as [Json, number];
  if (until < clock.now().getTime()) {
    throw new AppError("cursor_expired", "This cursor is older than 24 hours; start again without one.");
  }
  return position;
}

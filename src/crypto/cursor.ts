import type { Clock } from "../base/clock.ts";
import { AppError, invalid } from "../base/errors.ts";
import { canonicalJson, type Json } from "../base/json.ts";
import type { SecretBox } from "./secretbox.ts";

const LIFETIME_MS = 24 * 60 * 60 * 1000;

/** What a cursor is bound to: the list, the organization and the filters. */
export type CursorScope = readonly Json[];

interface Signer {
  secrets: SecretBox;
  clock: Clock;
}

/** The position, the expiry in milliseconds since the epoch, and the ID of the signing key. */
type Body = readonly [position: Json, until: number, keyId: string];

/** Returns an opaque, signed cursor for `position`, valid for 24 hours and for `scope` only. */
export function makeCursor({ secrets, clock }: Signer, scope: CursorScope, position: Json): string {
  const content: Body = [position, clock.now().getTime() + LIFETIME_MS, secrets.keyId];
  const body = Buffer.from(JSON.stringify(content)).toString("base64url");
  return `${body}.${secrets.sign(`${body}\n${canonicalJson(scope)}`, "cursor")}`;
}

/**
 * Returns the position in a cursor from `makeCursor`. Throws `invalid` if it was altered or belongs to another list,
 * and `cursor_expired` if it is too old or was signed with a retired master key. `name` is the query field.
 */
export function readCursor(
  { secrets, clock }: Signer,
  scope: CursorScope,
  cursor: string,
  name = "cursor",
): Json {
  const [body = "", signature = "", ...rest] = cursor.split(".");
  const isOurs = rest.length === 0 && secrets.verify(`${body}\n${canonicalJson(scope)}`, "cursor", signature);
  const content = isOurs ? (JSON.parse(textOf(body)) as Body) : null;
  if (content === null && !secrets.isRetired(signerOf(body))) {
    throw invalid(["query", name], "Invalid cursor for this list", "cursor_invalid");
  }
  if (content === null || content[1] < clock.now().getTime()) {
    throw new AppError("cursor_expired", "This cursor has expired. Start again without a cursor.");
  }
  return content[0];
}

/** Returns the first `limit` of `rows`. The caller reads one row more, which shows that there is a next page. */
export function pageOf<T extends { id: string }>(
  signer: Signer,
  scope: CursorScope,
  rows: readonly T[],
  limit: number,
): { rows: T[]; nextCursor?: string } {
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  return { rows: rows.slice(0, limit), ...(last ? { nextCursor: makeCursor(signer, scope, last.id) } : {}) };
}

const textOf = (body: string) => Buffer.from(body, "base64url").toString("utf8");

/** Returns the ID of the key that a cursor claims to be signed with. Not verified. */
const signerOf = (body: string): string => /"([0-9a-f]{16})"\]$/.exec(textOf(body))?.[1] ?? "";

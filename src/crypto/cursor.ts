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

/** Position, instant of its end in milliseconds since the epoch, and the id of the key that signed it. */
type Body = readonly [position: Json, until: number, keyId: string];

/** An opaque, signed text for `position`, good for 24 hours and for `scope` alone. */
export function makeCursor({ secrets, clock }: Signer, scope: CursorScope, position: Json): string {
  const content: Body = [position, clock.now().getTime() + LIFETIME_MS, secrets.keyId];
  const body = Buffer.from(JSON.stringify(content)).toString("base64url");
  return `${body}.${secrets.sign(`${body}\n${canonicalJson(scope)}`, "cursor")}`;
}

/**
 * The position that `makeCursor` was given. Throws `invalid` for an altered or foreign one, `cursor_expired`
 * for one that is too old or was signed under a master key that is no more. `name` is the query's field.
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

/** The page of `limit` that begins `rows`, of which one more was read: that one tells that there is a next page. */
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

/** The id of the key that a cursor says it was signed under, on its word alone. */
const signerOf = (body: string): string => /"([0-9a-f]{16})"\]$/.exec(textOf(body))?.[1] ?? "";

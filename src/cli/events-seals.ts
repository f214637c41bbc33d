import { readFileSync } from "node:fs";
import { Type } from "@sinclair/typebox";
import { AppError } from "../base/errors.ts";
import { read } from "../base/shape.ts";
import type { Reply } from "../calls.ts";
import type { Api } from "./verbs.ts";

/** A seal that was stored elsewhere. Without `organizationId`, it can be any organization's. */
export interface StoredSeal {
  organizationId: string | null;
  seq: number;
  count: number;
  hash: string;
}

const Kept = Type.Object({
  organizationId: Type.Optional(Type.String()),
  seq: Type.Integer(),
  count: Type.Integer(),
  hash: Type.String(),
});

/** Reads seals in the format of `GET /api/v1/events/seals`: a page, a list, or JSON lines of either. */
export function readSeals(path: string): StoredSeal[] {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (cause) {
    throw new AppError("not_found", `Couldn't read ${path}. Set --against to a file with seals.`, { cause });
  }
  const found: StoredSeal[] = [];
  for (const value of valuesIn(text, path)) {
    for (const item of itemsIn(value)) {
      const { value: seal, faults } = read(Kept, item, []);
      if (faults.length > 0) throw foreign(path);
      const { organizationId = null, seq, count, hash } = seal;
      found.push({ organizationId, seq, count, hash });
    }
  }
  if (found.length === 0) throw foreign(path);
  return found;
}

const foreign = (path: string) =>
  new AppError(
    "invalid_state",
    `${path} contains no seals. Use JSON or JSON Lines as returned by GET /api/v1/events/seals.`,
  );

/** The single JSON value of a text, or those of its lines. */
function valuesIn(text: string, path: string): unknown[] {
  const whole = jsonOf(text);
  if (whole !== undefined) return [whole];
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const values = lines.map(jsonOf);
  if (values.includes(undefined)) throw foreign(path);
  return values;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // the caller reports it
  }
}

function itemsIn(value: unknown): unknown[] {
  if (Array.isArray(value)) return value;
  const { items } = (value ?? {}) as { items?: unknown };
  return Array.isArray(items) ? items : [value];
}

type SealPage = Reply<"GET /api/v1/events/seals">;

/**
 * Returns whether the server lacks a seal of its organization, because it runs on an older copy.
 * Throws `not_found` if there is none of this organization.
 */
export async function lacksSeal(api: Api, kept: readonly StoredSeal[]): Promise<boolean> {
  const { body: own } = await api.call("GET /api/v1/organizations/current", {});
  const ofOwn = kept.filter(({ organizationId }) => organizationId === null || organizationId === own.id);
  if (ofOwn.length === 0)
    throw new AppError(
      "not_found",
      `The file of --against has no seals of ${own.slug}. Choose another organization with --org, or its own file.`,
    );
  const missing = new Set(ofOwn.map(nameOf));
  for (let cursor: string | undefined; ; ) {
    const query = { limit: 200, cursor };
    const page: SealPage = (await api.call("GET /api/v1/events/seals", { query })).body;
    for (const seal of page.items) missing.delete(nameOf(seal));
    cursor = page.nextCursor;
    if (cursor === undefined) return missing.size > 0;
  }
}

const nameOf = ({ count, seq, hash }: StoredSeal) => `${count} ${seq} ${hash}`;

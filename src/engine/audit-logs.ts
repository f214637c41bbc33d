import { inArray } from "drizzle-orm";
import { AppError } from "../base/errors.ts";
import type { Ids } from "../base/ids.ts";
import { keyIdOf, openSecretBox, type SecretBox } from "../crypto/secretbox.ts";
import { readHeadFile } from "../resources/events/head-file.ts";
import {
  reasonText,
  recordsHeads,
  verifiable,
  verifyChain,
  verifyTrail,
} from "../resources/events/verify.ts";
import type { Verification } from "../resources/events/wire.ts";
import { settings } from "../store/settings.ts";
import type { ReadDb } from "../store/store.ts";

/** An organization whose audit log isn't valid. */
export interface InvalidLog extends Required<Pick<Verification, "firstBadId" | "reason">> {
  id: string;
  slug: string;
}

/** Result of verifying the audit logs of a copied database. */
export interface AuditLogs {
  /**
   * `authentic`: compared with heads and seals, and their signatures verified. `unverified`: compared without verifying
   * signatures, since the master key isn't available. `not_recorded`: the database's version had neither.
   */
  heads: "authentic" | "unverified" | "not_recorded";
  invalid: InvalidLog[];
}

interface VerifyOptions {
  /** The available master keys. Others than the database's are fine. */
  keys: readonly Uint8Array[];
  ids: Ids;
  /** The data directory that the database is in, whose file with the latest seals is compared too. */
  dataFolder?: string | null;
  signal?: AbortSignal | undefined;
}

/** Verifies all audit logs of a database, as far as its version recorded heads and its master key is available. */
export async function verifyAuditLogs(
  db: ReadDb,
  { keys, ids, dataFolder = null, signal }: VerifyOptions,
): Promise<AuditLogs> {
  const hasHeads = await recordsHeads(db);
  const secrets = await secretsOf(db, keys, ids);
  const kept = secrets === null || dataFolder === null ? null : readHeadFile(dataFolder, secrets);
  const invalid: InvalidLog[] = [];
  for (const row of await verifiable(db)) {
    const { valid, reason, firstBadId } = hasHeads
      ? await verifyTrail({ db, secrets }, row.id, { beside: kept?.[row.id] ?? null, signal })
      : await verifyChain(db, row.id, signal);
    if (!valid) invalid.push({ ...row, reason: reason ?? "rewritten", firstBadId });
  }
  if (!hasHeads) return { heads: "not_recorded", invalid };
  return { heads: secrets === null ? "unverified" : "authentic", invalid };
}

/** Null unless every key that the database's signatures may be of is available: during a rotation, two. */
async function secretsOf(db: ReadDb, keys: readonly Uint8Array[], ids: Ids): Promise<SecretBox | null> {
  const used = await db
    .select()
    .from(settings)
    .where(inArray(settings.key, ["key_id", "next_key_id"]));
  const available = new Set(keys.map(keyIdOf));
  const [first, ...former] = keys;
  if (first === undefined || used.length === 0 || !used.every(({ value }) => available.has(value)))
    return null;
  return openSecretBox(first, ids, { former });
}

/** Returns invalid audit logs as part of a sentence, such as "acme (the latest events are missing)". */
export const invalidLogsText = (invalid: readonly InvalidLog[]): string =>
  invalid.map((one) => `${one.slug} (${reasonText(one)})`).join(", ");

/** Throws `invalid_state` if an audit log isn't valid. `remedy` says what to do. */
export function refuseInvalidLogs({ invalid }: AuditLogs, remedy: string): void {
  if (invalid.length > 0)
    throw new AppError(
      "invalid_state",
      `Audit log verification failed for ${invalidLogsText(invalid)}. ${remedy}`,
    );
}

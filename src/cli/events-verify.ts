import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Parts } from "../app.ts";
import { systemIds } from "../base/ids.ts";
import { ConfigError } from "../config.ts";
import { openSecretBox, type SecretBox } from "../crypto/secretbox.ts";
import { withDatabase } from "../engine/backup/contents.ts";
import { keyInFile, nextMasterKey, parseMasterKey, previousMasterKey } from "../folder.ts";
import { checkInstallation } from "../installation.ts";
import { readHeadFile } from "../resources/events/head-file.ts";
import { erasedAt } from "../resources/events/seals.ts";
import { hasEvent, verifiable, verifyTrail } from "../resources/events/verify.ts";
import type { Verification } from "../resources/events/wire.ts";
import type { ReadDb } from "../store/store.ts";
import { isLocked } from "./doctor/folder.ts";
import type { StoredSeal } from "./events-seals.ts";
import { withData } from "./host.ts";

interface Listener {
  /** Gets each result with the organization's slug. */
  onChain(slug: string, found: Verification): void;
  /** Gets each organization that has stored seals but no audit log, and when it was erased. Null if it wasn't. */
  onGone(organizationId: string, erased: string | null): void;
}

/** Verifies every organization's audit log, with or without a running server, and compares it with stored seals. */
export async function verifyHere(
  parts: Parts,
  kept: readonly StoredSeal[],
  { onChain, onGone }: Listener,
): Promise<Verification> {
  const whole: Verification = { valid: true, checked: 0, firstBadId: null };
  const { dataFolder, databaseUrl } = parts.config;
  const verify = async (db: ReadDb, secrets: Verifier) => {
    const beside = databaseUrl === null ? readHeadFile(dataFolder, secrets) : null;
    const rows = await verifiable(db);
    const gone = new Map<string | null, string | null>();
    for (const { organizationId: id } of kept)
      if (id !== null && !gone.has(id) && !rows.some((row) => row.id === id))
        gone.set(id, await erasedAt({ db, secrets }, id));
    for (const [id, erased] of gone) if (id !== null) onGone(id, erased);
    const comparable = kept.filter(({ organizationId }) => !gone.get(organizationId));
    const isMissing = await lacksSeals(db, rows, comparable);
    for (const { id, slug } of rows) {
      let found = await verifyTrail({ db, secrets }, id, { beside: beside?.[id] ?? null });
      if (found.valid && isMissing(id)) found = { ...found, valid: false, reason: "rolled_back" };
      whole.valid &&= found.valid;
      whole.checked += found.checked;
      if (found.redacted) whole.redacted = (whole.redacted ?? 0) + found.redacted;
      whole.firstBadId ??= found.firstBadId;
      if (found.reason) whole.reason ??= found.reason;
      onChain(slug, found);
    }
    if (isMissing(null)) Object.assign(whole, { valid: false, reason: whole.reason ?? "rolled_back" });
  };
  checkInstallation(parts);
  const file = join(dataFolder, "weir.db");
  if (databaseUrl === null && existsSync(file) && isLocked(dataFolder))
    await withDatabase(file, (db) => verify(db, verifierOf(parts)));
  else await withData(parts, ({ store, secrets }) => verify(store.db, secrets));
  return whole;
}

type Verifier = Pick<SecretBox, "sign" | "verify">;

/** The keys of a data directory. Throws `ConfigError` if there are none. */
function verifierOf({ config, secrets }: Parts): Verifier {
  const { dataFolder } = config;
  const isFromFile = secrets.secretKey === null;
  const own = isFromFile ? keyInFile(dataFolder) : parseMasterKey(secrets.secretKey ?? "");
  const other = isFromFile ? nextMasterKey(dataFolder) : previousMasterKey(secrets.secretKeyPrevious);
  if (own === null)
    throw new ConfigError(`No secret.key in ${dataFolder}. Restore it, or set WEIR_SECRET_KEY.`);
  return openSecretBox(own, systemIds, { former: other ? [other] : [] });
}

/** Returns a check whether an organization lacks an event in a stored seal. With null, whether a seal matches none. */
async function lacksSeals(
  db: ReadDb,
  rows: readonly { id: string }[],
  kept: readonly StoredSeal[],
): Promise<(id: string | null) => boolean> {
  const lacking = new Set<string | null>();
  for (const seal of kept) {
    const { organizationId } = seal;
    const among = rows.filter(({ id }) => organizationId === null || organizationId === id);
    const there = await Promise.all(among.map(({ id }) => hasEvent(db, id, seal)));
    if (there.includes(true)) continue;
    lacking.add(among.length === 1 ? (among[0]?.id ?? null) : null);
  }
  return (id) => lacking.has(id);
}

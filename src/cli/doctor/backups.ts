import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { eq, min, sql } from "drizzle-orm";
import type { Parts } from "../../app.ts";
import { readAuthorities } from "../../authorities.ts";
import type { Clock } from "../../base/clock.ts";
import { ConfigError } from "../../base/config-error.ts";
import { readPassphrase } from "../../crypto/age.ts";
import { awayFrom } from "../../lake/away-from.ts";
import { events } from "../../resources/events/table.ts";
import { backupInstant, backupsUntil } from "../../resources/health/backups.ts";
import { organizations } from "../../resources/organizations/table.ts";
import type { ReadDb } from "../../store/store.ts";
import { type Finding, fine, wrong } from "./finding.ts";

const HOUR_MS = 60 * 60 * 1000;
/** Time within which a failed backup is retried. */
const GRACE_MS = HOUR_MS;

/** Checks whether scheduled backups are up to date. Without a server, none is expected. */
export async function checkBackups(
  db: ReadDb,
  settings: Pick<Parts, "config" | "secrets">,
  clock: Clock,
  isServed: boolean,
): Promise<Finding> {
  const { backupEvery, dataFolder, backupUrl, backupPassphraseFile } = settings.config;
  if (backupPassphraseFile !== null) {
    const fault = passphraseFault(backupPassphraseFile);
    if (fault !== null)
      return wrong(
        "backups",
        fault,
        "Restore the file, and make it readable for the user that the server runs as.",
      );
  }
  const where = backupUrl ?? join(dataFolder, "backups");
  const latest = backupsUntil(await namesIn(settings, clock), clock.now()).at(-1);
  const newest = latest === undefined ? 0 : (backupInstant(latest) ?? 0);
  const [failure] = await db
    .select({ at: sql<string | null>`max(${events.timestamp})` })
    .from(events)
    .where(eq(events.type, "backup.failed"));
  const [first] = await db.select({ at: min(organizations.createdAt) }).from(organizations);
  const since = newest || Date.parse(first?.at ?? clock.now().toISOString());
  const message =
    newest === 0
      ? `No scheduled backup in ${where}`
      : `The latest scheduled backup in ${where} was made at ${new Date(newest).toISOString()}`;
  const failedAt = failure?.at ?? null;
  const isOverdue = isServed && clock.now().getTime() - since > backupEvery * HOUR_MS + GRACE_MS;
  if (failedAt !== null && Date.parse(failedAt) > newest)
    return wrong("backups", `${message}. A backup failed at ${failedAt}.`, remedyOf(backupUrl));
  if (isOverdue)
    return wrong(
      "backups",
      `${message}. One is due every ${backupEvery} hours (WEIR_BACKUP_EVERY).`,
      remedyOf(backupUrl),
    );
  return fine("backups", `${message}.`);
}

function passphraseFault(file: string): string | null {
  try {
    readPassphrase(file);
    return null;
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
}

const remedyOf = (backupUrl: string | null) =>
  `Check the server log for the loop "backups", and ${
    backupUrl === null ? "free up disk space" : "check the bucket and its keys"
  }. If the setting is new, restart the server. To make a backup now, run "weir backup FILE".`;

async function namesIn({ config, secrets }: Pick<Parts, "config" | "secrets">, clock: Clock) {
  if (config.backupUrl === null) return readdir(join(config.dataFolder, "backups"));
  const egress = { allow: config.egressAllow, ca: readAuthorities(config), self: () => null, clock };
  const { signal } = new AbortController();
  return awayFrom(config.backupUrl, { ...config, ...secrets }, { egress, clock, signal }).names();
}

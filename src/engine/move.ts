import { existsSync, mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Clock } from "../base/clock.ts";
import { ConfigError } from "../base/config-error.ts";
import { AppError } from "../base/errors.ts";
import type { Ids } from "../base/ids.ts";
import { openDataFolder } from "../folder.ts";
import { locationsOf, recordInstallation } from "../installation.ts";
import { migrations } from "../store/migrations.ts";
import { type Moved, moveRows } from "../store/move.ts";
import { fileSide, postgresSide, type Side } from "../store/move-sides.ts";
import { livingProcesses } from "../store/processes.ts";
import { MOVED_TO } from "../store/settings.ts";
import { isPostgresUrl, openRemoteStore, openStore } from "../store/store.ts";
import { type AuditLogs, refuseInvalidLogs, verifyAuditLogs } from "./audit-logs.ts";

export interface MoveRequest {
  /** A data directory, or the URL of a PostgreSQL database. */
  from: string;
  to: string;
  /** Password for a URL that has none. */
  token: string | undefined;
  ca: string | undefined;
  clock: Clock;
  ids: Ids;
  /** Returns the master keys that are available with a data directory, to verify audit logs with. */
  keysAt(dataFolder: string): readonly Uint8Array[];
  /** Moves it even if its audit logs aren't valid. */
  allowInvalidLogs: boolean;
  onTable(table: string): void;
}

export interface MoveResult {
  tables: Moved[];
  organizations: number;
  events: number;
  auditLogs: AuditLogs;
}

/**
 * Copies an installation's database from a file to PostgreSQL or back, verifies the copy and its audit logs, and marks
 * the old one so that no server starts on it. Throws `invalid_state` and `ConfigError`, after which nothing has changed.
 */
export async function moveDatabase(request: MoveRequest): Promise<MoveResult> {
  const { from, to } = request;
  if (isPostgresUrl(from) === isPostgresUrl(to))
    throw new ConfigError(
      "Move from a data directory to a postgres:// URL, or from a postgres:// URL to a data directory.",
    );
  const folder = isPostgresUrl(from) ? to : from;
  if (!isPostgresUrl(from) && !existsSync(join(from, "weir.db")))
    throw new ConfigError(`No database in ${from}. Set --from to an existing data directory.`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const { unlock } = openDataFolder(folder);
  const sides: Side[] = [];
  try {
    const source = await sideOf(request, from);
    sides.push(source);
    await refuseMoved(source, from);
    await (await storeAt(request, to)).close();
    const target = await sideOf(request, to);
    sides.push(target);
    const tables = await moveRows(source, target, request.onTable);
    const auditLogs = await verifyAuditLogs(target.db, {
      keys: request.keysAt(folder),
      ids: request.ids,
      dataFolder: isPostgresUrl(from) ? null : folder,
    });
    if (!request.allowInvalidLogs)
      refuseInvalidLogs(
        auditLogs,
        "Nothing was moved. Move a restored backup instead, or set --allow-invalid-logs to move this database anyway.",
      );
    const counts = await countsOf(target);
    await target.commit();
    await source.begin([]);
    await source.run("INSERT INTO settings (key, value) VALUES (?, ?)", [MOVED_TO, shownPlace(to)]);
    await source.commit();
    const databaseUrl = isPostgresUrl(to) ? to : null;
    const { database } = locationsOf({ databaseUrl, lakeUrl: null, lakeEndpoint: null });
    recordInstallation(resolve(folder), { database });
    return { tables, ...counts, auditLogs };
  } finally {
    for (const side of sides) await side.close();
    unlock();
  }
}

/** A location for display, without user and password. */
const shownPlace = (place: string) =>
  isPostgresUrl(place)
    ? (locationsOf({ databaseUrl: place, lakeUrl: null, lakeEndpoint: null }).database ?? "")
    : resolve(place);

const storeAt = ({ token, ca, clock }: MoveRequest, place: string) =>
  isPostgresUrl(place)
    ? openRemoteStore({ url: place, ...(token === undefined ? {} : { token }), ca, migrations, clock })
    : openStore({ path: join(place, "weir.db"), migrations, backupsFolder: join(place, "backups"), clock });

async function sideOf({ token, ca }: MoveRequest, place: string): Promise<Side> {
  if (!isPostgresUrl(place)) return fileSide(join(place, "weir.db"));
  const side = postgresSide({ url: place, ...(token === undefined ? {} : { token }), ca });
  const living = await livingProcesses(side.db).catch(() => []); // a new database has no tables
  if (living.length === 0) return side;
  await side.close();
  const names = living.map(({ host, pid }) => `${host} (process ${pid})`).join(", ");
  throw new AppError("invalid_state", `A server is using the database: ${names}. Stop it first.`);
}

async function refuseMoved(side: Side, place: string): Promise<void> {
  const [[moved] = []] = await side.rows("SELECT value FROM settings WHERE key = ?", [MOVED_TO]);
  if (moved !== undefined)
    throw new AppError(
      "invalid_state",
      `The database at ${shownPlace(place)} has already been moved to ${String(moved)}.`,
    );
}

/** Counts what arrived, within the target's transaction. */
async function countsOf({ rows }: Side): Promise<Pick<MoveResult, "organizations" | "events">> {
  const [[organizations, events] = []] = await rows(
    "SELECT (SELECT count(*) FROM organizations), (SELECT count(*) FROM events)",
  );
  return { organizations: Number(organizations), events: Number(events) };
}

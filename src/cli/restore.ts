import { readFileSync } from "node:fs";
import { systemClock } from "../base/clock.ts";
import { fileReason } from "../base/file-error.ts";
import { systemIds } from "../base/ids.ts";
import { ConfigError } from "../config.ts";
import { type RestoreRequest, restoreBackup, roomOf } from "../engine/backup/restore.ts";
import { checkLocations, wrongLocation } from "../installation.ts";
import { isPostgresUrl, serverName } from "../store/store.ts";
import { logsSummary, logsText, summaryOf, watchOf } from "./backup.ts";
import { passphraseFor, withFile } from "./backup-away.ts";
import { carryOut, type Host, readArgs, UsageError } from "./host.ts";
import { openProgress } from "./progress.ts";
import { usage } from "./usage.ts";

/** `weir restore FILE --data DIR`: replaces a data directory that no server has open with a backup. */
export const restore = (args: readonly string[], host: Host) =>
  carryOut(host, usage.restore.line, async () => {
    const { values: flags, positionals } = readArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        data: { type: "string" },
        "key-file": { type: "string" },
        "passphrase-file": { type: "string" },
        "allow-invalid-logs": { type: "boolean" },
        json: { type: "boolean" },
      },
    });
    const [path, ...more] = positionals;
    if (path === undefined || more.length > 0) throw new UsageError("Missing argument: FILE.");
    const parts = await host.parts({ data: flags.data });
    const { config, secrets } = parts;
    checkLocations(config);
    if (config.databaseUrl !== null) {
      throw new ConfigError(
        `This installation uses a ${serverName(config.databaseUrl)} server (WEIR_DATABASE_URL). Restore it with that server's tools${isPostgresUrl(config.databaseUrl) ? ", such as pg_restore" : ""}.`,
      );
    }
    const { dataFolder, lakeUrl, lakeEndpoint } = config;
    host.status("Restoring…");
    const progress = openProgress(host);
    const key = keyGiven(flags["key-file"], secrets.secretKey);
    const { manifest, auditLogs, kept, leftovers } = await withFile(
      host,
      parts,
      { path, room: roomOf(dataFolder) },
      async (file) =>
        restoreBackup({
          passphrase: await passphraseFor(host, parts, flags["passphrase-file"], file),
          path: file,
          dataFolder,
          key,
          allowInvalidLogs: flags["allow-invalid-logs"] ?? false,
          lakeUrl,
          lakeEndpoint,
          clock: systemClock,
          ids: systemIds,
          watch: watchOf(progress),
        }),
    ).finally(progress.end);
    for (const left of leftovers)
      host.err(
        `${left} is left from a restore that was interrupted. Delete it if no other restore is running.`,
      );
    if (flags.json)
      return host.out(
        JSON.stringify({
          ...summaryOf(path, manifest),
          dataFolder,
          previousFolder: kept,
          ...logsSummary(auditLogs),
        }),
      );
    host.out(`Restored ${dataFolder} from ${manifest.createdAt}. ${logsText(auditLogs)}`);
    if (kept !== null) host.out(`The previous data was moved to ${kept}.`);
    const wrong = wrongLocation(config);
    if (wrong !== null) host.err(wrong);
  });

function keyGiven(file: string | undefined, secretKey: string | null): RestoreRequest["key"] {
  if (file !== undefined) return { key: decoded(readKeyFile(file), file), from: "file" };
  if (secretKey === null) return null;
  return { key: decoded(secretKey, "WEIR_SECRET_KEY"), from: "environment" };
}

function readKeyFile(file: string): string {
  try {
    return readFileSync(file, "utf8").trim();
  } catch (cause) {
    throw new ConfigError(`Couldn't read the key file ${file}: ${fileReason(cause)}.`, { cause });
  }
}

function decoded(text: string, source: string): Uint8Array {
  const key = new Uint8Array(Buffer.from(text, "base64"));
  if (key.length === 32) return key;
  throw new ConfigError(`${source} must contain 32 base64-encoded bytes, as in secret.key.`);
}

import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Parts } from "../app.ts";
import { systemClock } from "../base/clock.ts";
import { systemIds } from "../base/ids.ts";
import { plural } from "../base/plural.ts";
import { sizeText } from "../base/size.ts";
import { ConfigError } from "../config.ts";
import { type AuditLogs, invalidLogsText } from "../engine/audit-logs.ts";
import type { Watch } from "../engine/backup/archive.ts";
import { keyToInclude, makeBackup } from "../engine/backup/make.ts";
import type { Manifest } from "../engine/backup/shape.ts";
import { verifyBackup } from "../engine/backup/verify.ts";
import { parseMasterKey, previousMasterKey, readableKeys } from "../folder.ts";
import { checkInstallation } from "../installation.ts";
import { isPostgresUrl, serverName } from "../store/store.ts";
import { isAway, openBackupTarget, passphraseFor, withFile } from "./backup-away.ts";
import { carryOut, type Host, readArgs, UsageError } from "./host.ts";
import { openProgress, type Progress } from "./progress.ts";
import { usage } from "./usage.ts";

/** `weir backup FILE`, with or without a running server, and `weir backup verify FILE`. */
export const backup = (args: readonly string[], host: Host) =>
  carryOut(host, usage.backup.line, async () => {
    const { values: flags, positionals } = readArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        data: { type: "string" },
        "include-key": { type: "boolean" },
        "passphrase-file": { type: "string" },
        json: { type: "boolean" },
      },
    });
    const isCheck = positionals[0] === "verify" && positionals.length === 2;
    if (!isCheck && positionals.length !== 1) throw new UsageError("Missing argument: FILE.");
    const parts = await host.parts({ data: flags.data });
    if (isCheck)
      return withFile(host, parts, { path: positionals[1] ?? "", room: tmpdir() }, async (file) =>
        verify(
          host,
          {
            file,
            path: positionals[1] ?? "",
            passphrase: await passphraseFor(host, parts, flags["passphrase-file"], file),
            keys: keysAt(parts, parts.config.dataFolder),
          },
          flags,
        ),
      );
    checkInstallation(parts);
    const { dataFolder, databaseUrl, lakeUrl } = parts.config;
    if (databaseUrl !== null) {
      throw new ConfigError(
        `This installation uses a ${serverName(databaseUrl)} server (WEIR_DATABASE_URL). Back it up with that server's tools${isPostgresUrl(databaseUrl) ? ", such as pg_dump" : ""}.`,
      );
    }
    const passphrase = await passphraseFor(host, parts, flags["passphrase-file"], null);
    const stop = new AbortController();
    host.onStop(() => stop.abort());
    const to = positionals[0] ?? "";
    const away = isAway(to) ? await openBackupTarget(parts, to, stop.signal) : null;
    host.status("Backing up…");
    const progress = openProgress(host);
    const made = await makeBackup({
      dataFolder,
      to: away ? join(dataFolder, "backups", `.work-sent-${systemIds.uuid()}`) : to,
      clock: systemClock,
      ids: systemIds,
      key: flags["include-key"] ? keyToInclude(dataFolder, parts.secrets.secretKey) : null,
      lakeUrl,
      passphrase,
      signal: stop.signal,
      watch: watchOf(progress),
    }).finally(progress.end);
    const { manifest } = made;
    if (away) {
      progress.begin("Uploading", null);
      await away.store(made.path).finally(() => rm(made.path, { force: true }).finally(progress.end));
    }
    const path = away ? to : made.path;
    if (flags.json) return host.out(JSON.stringify({ ...summaryOf(path, manifest), bytes: made.bytes }));
    host.out(
      `${path}: ${sizeText(made.bytes)}, ${manifest.parts.length} files, ${passphrase === null ? "" : "encrypted, "}verified.`,
    );
    if (!manifest.hasKey && manifest.keyId !== null)
      host.out(
        `The master key (${manifest.keyId}) is not included. Keep a copy of ${dataFolder}/secret.key elsewhere.`,
      );
    if (manifest.lakeUrl !== null)
      host.out(
        `The lake's files are not included. They stay in ${manifest.lakeUrl}; enable versioning there.`,
      );
    reportLeftOut(host, manifest);
  });

const reportLeftOut = (host: Host, { leftOut }: Manifest): void => {
  for (const name of leftOut) host.err(`Left out: ${name}`);
};

async function verify(
  host: Host,
  {
    file,
    path,
    passphrase,
    keys,
  }: { file: string; path: string; passphrase: string | null; keys: readonly Uint8Array[] },
  flags: { data?: string | undefined; "include-key"?: boolean | undefined; json?: boolean | undefined },
): Promise<void> {
  if (flags["include-key"]) throw new UsageError("--include-key can't be used with verify.");
  const progress = openProgress(host);
  const { manifest, auditLogs } = await verifyBackup(file, {
    passphrase,
    keys,
    ids: systemIds,
    watch: watchOf(progress),
  }).finally(progress.end);
  if (flags.json)
    return host.out(JSON.stringify({ valid: true, ...summaryOf(path, manifest), ...logsSummary(auditLogs) }));
  host.out(`${path} is valid. Made by Weir ${manifest.version} on ${manifest.createdAt}.`);
  host.out(logsText(auditLogs));
  for (const { slug, events } of manifest.organizations)
    host.out(`${slug}: ${plural(events, { one: "event", other: "events" })}`);
  host.out(manifest.hasKey ? "The master key is included." : `Requires the master key ${manifest.keyId}.`);
  reportLeftOut(host, manifest);
}

/** What was verified of all audit logs, and what wasn't. */
export const logsText = ({ heads, invalid }: AuditLogs): string =>
  invalid.length > 0 ? `Invalid audit logs: ${invalidLogsText(invalid)}.` : LOGS[heads];

const LOGS: Readonly<Record<AuditLogs["heads"], string>> = {
  authentic: "All audit logs are valid.",
  unverified:
    "All audit logs match their heads and seals. Their signatures weren't verified, since the master key isn't available.",
  not_recorded:
    "The hash chains of all audit logs are intact. Heads and seals, which reveal missing latest events, were not recorded by the version that made this backup.",
};

/** Which audit logs aren't valid, and what they were compared with. */
export const logsSummary = ({ heads, invalid }: AuditLogs) => ({
  auditLogHeads: heads,
  invalidAuditLogs: invalid,
});

const LABELS = { backup: "Backing up", check: "Verifying", restore: "Restoring" } as const;

/** Shows the progress of a backup. */
export const watchOf = ({ begin, reach }: Progress): Watch => ({
  begin: (what, total) => begin(LABELS[what], total),
  reach,
});

/** The master keys that are available: in the environment, and in a data directory. */
export const keysAt = ({ secrets }: Parts, dataFolder: string): Uint8Array[] =>
  [
    secrets.secretKey === null ? null : parseMasterKey(secrets.secretKey),
    previousMasterKey(secrets.secretKeyPrevious),
    ...readableKeys(dataFolder),
  ].filter((key) => key !== null);

/** A manifest without its list of parts. */
export const summaryOf = (path: string, { parts, ...manifest }: Manifest) => ({
  path,
  ...manifest,
  files: parts.length,
  contentBytes: parts.reduce((sum, { bytes }) => sum + bytes, 0),
});

import type { Usage } from "./usage.ts";

const DATA = "  --data DIR         data directory (default: $WEIR_DATA, or ./weir-data)";
const SERVER = `  --server URL       server URL (default: $WEIR_SERVER, $WEIR_BASE_URL, the last server used, or
                     http://127.0.0.1:8484)`;
const ORG =
  "  --org ORG          organization to act in, by ID or slug (default: $WEIR_ORG, or the token's organization)";

/** Usage of the commands that operate an installation or manage configuration as files. */
export const upkeepUsage = {
  backup: {
    line: "weir backup FILE [--include-key] [--passphrase-file FILE] [--data DIR] [--json], or weir backup verify FILE [--passphrase-file FILE] [--data DIR] [--json]",
    gist: "create or verify a backup",
    text: `Writes the database, lake, files and artifacts to a single new file (zstd-compressed tar). The server can keep running.
The backup is verified before it gets its final name. Existing files are never overwritten.

"weir backup verify" checks every part of a backup, its database and its audit logs. It compares their hash chains with
their heads and seals, like "weir events verify". The signatures of these need the master key: the one in the backup,
$WEIR_SECRET_KEY, or the one in the data directory. Without it, they aren't verified, and the output says so. Versions
before heads and seals recorded only hash chains: missing latest events can't be found in their backups.

FILE can be s3://BUCKET/PREFIX/NAME. Set WEIR_BACKUP_ACCESS_KEY_ID and WEIR_BACKUP_SECRET_ACCESS_KEY, and
WEIR_BACKUP_ENDPOINT if the bucket isn't on Amazon S3.

The master key is not included: to restore the backup, you need secret.key or WEIR_SECRET_KEY. Store it elsewhere.

  --include-key      include the master key; anyone with the file can then read all credentials
  --passphrase-file FILE
                     encrypt the backup with the passphrase in FILE, as "age -p" does ("age -d" decrypts it); with
                     verify, decrypt it (default: $WEIR_BACKUP_PASSPHRASE_FILE; verify prompts on a terminal)
${DATA}
  --json             {path, version, schemaVersion, createdAt, keyId, hasKey, lakeUrl, organizations, leftOut, files,
                     contentBytes, bytes}; with verify, no bytes, and also {valid, auditLogHeads, invalidAuditLogs}.
                     auditLogHeads is authentic, unverified (without the master key) or not_recorded

To schedule backups, set WEIR_BACKUP_EVERY (hours; default: 0, disabled). The server writes them to backups/ in the data
directory, or to WEIR_BACKUP_URL=s3://BUCKET/PREFIX, and keeps the latest WEIR_BACKUP_KEEP (default: 7).`,
  },
  restore: {
    line: "weir restore FILE [--data DIR] [--key-file FILE] [--passphrase-file FILE] [--allow-invalid-logs] [--json]",
    gist: "restore a backup",
    text: `Replaces the data directory with a backup. No server may be using it. The previous data is kept next to it, as
DIR.before-TIME, and its weir.toml stays in use. If DIR can't be renamed, such as a mount point, it is kept in it, as
DIR/.before-TIME. Nothing is changed if the file is damaged, isn't a Weir backup, was made by a newer version, or has an
audit log that isn't valid, or if the key that its secrets are encrypted with is missing.

${DATA}
  --key-file FILE    the secret.key the backup was made with (default: $WEIR_SECRET_KEY, the key in the backup, or the one
                     in the data directory)
  --passphrase-file FILE
                     file with the passphrase of an encrypted backup (default: $WEIR_BACKUP_PASSPHRASE_FILE; prompts
                     on a terminal)
  --allow-invalid-logs
                     restore the backup even if audit logs aren't valid, and list them
  --json             {path, dataFolder, previousFolder, auditLogHeads, invalidAuditLogs: [{id, slug, reason, firstBadId}],
                     version, schemaVersion, createdAt, keyId, hasKey, …}`,
  },
  move: {
    line: "weir move --from PLACE --to PLACE [--allow-invalid-logs] [--json]",
    gist: "move the database to PostgreSQL or back",
    text: `Copies the database of a data directory to an empty PostgreSQL database, or the other way round. No server may be using
either. Row counts, checksums of each table and all audit logs are verified before anything is saved. The old database
stays as it is, but servers no longer start on it. Datasets, files and secret.key stay in the data directory.

  --from PLACE       data directory, or postgres://USER:PASSWORD@HOST/DATABASE
  --to PLACE         likewise; a data directory must not have a database
  --allow-invalid-logs
                     move the database even if audit logs aren't valid, and list them
  --json             {from, to, organizations, events, rows, tables: [{table, rows}], auditLogHeads,
                     invalidAuditLogs: [{id, slug, reason, firstBadId}]}

The signatures of audit logs are verified with $WEIR_SECRET_KEY or secret.key in the data directory, if it is there.
A URL without a password uses $WEIR_DATABASE_TOKEN. Then set WEIR_DATABASE_URL to the new database, or unset it.`,
  },
  upgrade: {
    line: "weir upgrade --file FILE [--signature FILE] [--public-key FILE] [--allow-older] [--json], or weir upgrade --rollback [--json]",
    gist: "upgrade to a signed release, or roll back",
    text: `Checks that FILE is signed with the release key, is built for this machine and starts, then replaces this executable
with it. The previous one is kept next to it as weir.previous. The swap is atomic: an interrupted upgrade leaves a
working executable. Restart the server afterwards. It copies the database to backups/ before it migrates it.

  --file FILE        new release
  --signature FILE   signature of the release (default: FILE.sig)
  --public-key FILE  key to verify with, instead of the built-in release key
  --allow-older      allow a release that is older than this one
  --rollback         go back to weir.previous, and keep this executable as weir.previous
  --json             {program, previous, changed, version, commit, previousVersion, platform, sha256, keyId}`,
  },
  service: {
    line: "weir service install|uninstall|status [FLAGS]",
    gist: "start the server with the machine",
    verbs: {
      install:
        "weir service install [--data DIR] [--host HOST] [--port PORT] [--user|--system] [--dry-run] [--yes] [--json]",
      uninstall: "weir service uninstall [--user|--system] [--yes] [--json]",
      status: "weir service status [--user|--system] [--json]",
    },
    text: `install shows the definition of the service, asks, writes it and starts the service: a systemd unit on Linux, a launchd
agent or daemon on macOS, a scheduled task on Windows. uninstall stops the service and deletes the definition; it keeps
the data. status exits with code 1 if the service isn't running. Settings belong in weir.toml in the data directory: the
service doesn't have your shell's WEIR_* variables. A systemd unit of the machine also reads /etc/weir.env.

  --data DIR         data directory (default: as for weir without a command; with --system /var/lib/weir, on macOS
                     /Library/Application Support/Weir, on Windows %ProgramData%\\Weir)
  --host HOST        address to listen on
  --port PORT        port to listen on
  --user             a service of your account, which starts when you sign in (default, unless you are root)
  --system           a service of the machine, which starts when it boots; runs as the owner of the data directory
  --dry-run          print the definition and change nothing
  --yes              don't ask
  --json             {file, data, installed}; for status {file, installed, running}`,
  },
  doctor: {
    line: "weir doctor [--data DIR] [--json]",
    gist: "check an installation for problems",
    text: `Checks permissions, disk, key, database, audit logs, clock, settings, queue and the lake's files. The server can keep
running. Changes nothing. Exit code 1 if a check fails; each finding says how to fix it.

${DATA}
  --json             {ok, findings: [{check, ok, message, remedy}]}`,
  },
  export: {
    line: "weir export [-o FILE|DIR] [--server URL] [--org ORG] [--json]",
    gist: "export the configuration as YAML",
    text: `Writes templates, connections, API catalog, agents, actions, automations, saved queries, dashboards and outgoing webhooks
to standard output or to a file, or to one file per section if PATH is a directory (an existing one, or a name that ends
with a slash). The same configuration always produces the same bytes. Secrets are replaced with \${NAME}, which
"weir apply" reads from the environment. Outgoing webhooks are exported for admins only.

  -o, --output PATH  file or directory to write
${SERVER}
${ORG}
  --json             with -o {output, connections, actions, …}, the number of each; otherwise the configuration as JSON`,
  },
  diff: {
    line: "weir diff -f FILE|DIR... [--prune] [--server URL] [--org ORG] [--json]",
    gist: "show what weir apply would change",
    text: `Compares configuration files with the server and changes nothing. Exit code 0 if they are the same, 1 if they differ,
2 for an error, and 3 if you aren't signed in. Secrets are never shown. The server doesn't return them, so a secret that
is set counts as the same.

  -f, --file PATH    as in weir apply
  --prune            include what weir apply --prune would delete
${SERVER}
${ORG}
  --json             {differs, plan: [{kind, slug, operation, changes}], unchanged, notes}`,
  },
  apply: {
    line: "weir apply -f FILE|DIR... [--dry-run] [--prune] [--yes] [--server URL] [--org ORG] [--json]",
    gist: "apply configuration from YAML files",
    text: `Shows the changes, asks on a terminal, then makes them: creates missing resources and updates those that differ, matched
by slug (APIs by name, outgoing webhooks by URL). Applying the same files again changes nothing. The resources are checked
first, if the server has the same version as this command. What depends on other data of the server, such as a path that
is taken, is found when it is sent: then the earlier changes are rolled back. Without a terminal, changes require --yes
(exit code 2).

\${NAME} stands for a value of a file with values: {NAME: …}, otherwise for a variable of the environment, also within
text if NAME is in capitals. A secret that isn't set is left unchanged; any other is an error. $\${NAME} is literal text.
\${connection:SLUG} (also action, automation, agent, api, template, query) is replaced with the ID of that resource.
In credentials and secret, @FILE stands for the contents of a file, relative to the file that names it.

  -f, --file PATH    file, directory of .yaml, .yml and .json files (with its subdirectories), or - for standard input.
                     Can be repeated. Files with values: are read only if -f names them
  --dry-run          show the changes without making them
  --prune            delete resources that are missing from the files, in the sections the files contain
  -y, --yes          make the changes without asking; required without a terminal
${SERVER}
${ORG}
  --json             {plan: [{kind, slug, operation, changes}], unchanged, notes, applied, secrets, warnings}; on a terminal, asks only
                     before it deletes`,
  },
} as const satisfies Readonly<Record<string, Usage>>;

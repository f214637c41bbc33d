import type { Usage } from "./usage.ts";

const DATA = "  --data DIR         where all state lies; ./weir-data by default, or WEIR_DATA";
const SERVER =
  "  --server URL       WEIR_SERVER or WEIR_BASE_URL by default, then the last one, then http://127.0.0.1:8484";
const ORG = "  --org ORG          id or slug of the organization; the token's own by default";

/** Commands that look after an installation, and its configuration as files. */
export const upkeepUsage = {
  backup: {
    line: "weir backup FILE [--include-key] [--passphrase-file FILE] [--data DIR] [--json], or weir backup verify FILE [--passphrase-file FILE] [--json]",
    gist: "write everything to one file",
    text: `Writes database, lake, files and artifacts to one new file (tar, compressed with zstd), also while a server runs,
which goes on writing meanwhile. It is opened and checked before it gets its name. An existing file is never written
over. weir backup verify reads one to its end: every part, the database, every audit trail.

FILE may be s3://BUCKET/PREFIX/NAME, with keys in WEIR_BACKUP_ACCESS_KEY_ID and WEIR_BACKUP_SECRET_ACCESS_KEY, and
WEIR_BACKUP_ENDPOINT where the store is not Amazon's.

The secret key is not in it: without secret.key, or WEIR_SECRET_KEY, it can't be restored. Keep that elsewhere.

  --include-key      put the secret key in as well; then the file alone is all that a thief needs
  --passphrase-file FILE
                     encrypt it with the passphrase in FILE, as age -p does (age -d opens it); of verify: open it with
                     that. Default: WEIR_BACKUP_PASSPHRASE_FILE. verify asks for it on a terminal
${DATA}
  --json             {path, version, schemaVersion, createdAt, keyId, hasKey, lakeUrl, organizations, leftOut, files,
                     contentBytes, bytes}

A server does it by itself, into backups/ of the data directory, with WEIR_BACKUP_EVERY (hours; 0, the default, is off);
WEIR_BACKUP_KEEP of them are kept (7). With WEIR_BACKUP_URL=s3://BUCKET/PREFIX they are kept there instead.`,
  },
  restore: {
    line: "weir restore FILE [--data DIR] [--key-file FILE] [--passphrase-file FILE] [--json]",
    gist: "put a backup back",
    text: `Puts a backup in the place of the data directory, on which no server may run. What was there before is kept beside
it, as DIR.before-INSTANT; its weir.toml stays in use. Refused, with nothing changed, for a file that is damaged or not
Weir's, for one of a newer version, and without the key that its secrets are sealed with.

${DATA}
  --key-file FILE    the secret.key of back then; else WEIR_SECRET_KEY counts, then the key in the backup
  --passphrase-file FILE
                     what an encrypted backup was made with (default: WEIR_BACKUP_PASSPHRASE_FILE); asked for on a
                     terminal
  --json             {path, dataFolder, previousFolder, version, schemaVersion, createdAt, keyId, hasKey, …}`,
  },
  upgrade: {
    line: "weir upgrade --file FILE [--signature FILE] [--public-key FILE] [--allow-older] [--json], or weir upgrade --rollback [--json]",
    gist: "put a signed release in the place of this one",
    text: `Checks that FILE is signed with the release key of this weir, is for this machine and starts, and puts it in this
one's place, which is kept beside it as weir.previous. Killed at any instant, there is a whole weir in place. Restart the
server then: it copies the database into backups/ before it changes it.

  --file FILE        the new weir
  --signature FILE   FILE.sig by default
  --public-key FILE  the key to check with, in place of the one that this weir was built with
  --allow-older      take one that is older than this
  --rollback         put weir.previous back, and keep this one in its place
  --json             {program, previous, changed, version, commit, previousVersion, platform, sha256, keyId}`,
  },
  doctor: {
    line: "weir doctor [--data DIR] [--json]",
    gist: "look what is wrong with an installation",
    text: `Looks at the data directory, also while a server runs: permissions, disk, key, database, audit trails, clock,
settings, what waits, and the lake's files. Changes nothing. Exit code 1 when something is wrong; each finding says what
to do.

${DATA}
  --json             {ok, findings: [{check, ok, message, remedy}]}`,
  },
  export: {
    line: "weir export [-o FILE|DIR] [--server URL] [--org ORG] [--json]",
    gist: "write the configuration as YAML",
    text: `Writes templates, connections, API catalog, agents, actions and automations to standard output, or to a file; with a
folder (one that is there, or a name with a slash at its end) one file for each of them. The same configuration always
gives the same bytes. Secrets are not in it: \${NAME} stands in their place, and weir apply reads NAME from the
environment.

  -o, --output PATH  a file, or a folder
${SERVER}
${ORG}
  --json             {output, connections, actions, …}: how many of each, with -o; else the configuration as JSON`,
  },
  apply: {
    line: "weir apply -f FILE|DIR [--dry-run] [--prune] [--server URL] [--org ORG] [--json]",
    gist: "bring a server to what files say",
    text: `Shows what would change, then changes it: creates what is missing and changes what differs, by slug (APIs by their
name). Applied again it changes nothing. Everything is checked before; where a change fails, those before it are taken
back.

\${NAME} takes NAME from the environment; where that is not set, what is there already stays as it is.
\${connection:SLUG} (also action, automation, agent, api, template) stands for an id.

  -f, --file PATH    a file, a folder of .yaml files, or - for standard input
  --dry-run          only show it
  --prune            delete what the files do not have, of each section that they have
${SERVER}
${ORG}
  --json             {plan: [{kind, slug, operation, changes}], applied, notes, secrets}`,
  },
} as const satisfies Readonly<Record<string, Usage>>;

/** How each command is called, and what its words mean. */
interface Usage {
  line: string;
  /** What it does, in one line of the overview. */
  gist: string;
  /** More, for `weir help COMMAND`. */
  text: string;
}

const DATA = "  --data DIR         where all state lies; ./weir-data by default, or WEIR_DATA";

export const usage = {
  serve: {
    line: "weir serve [--data DIR] [--host HOST] [--port PORT]",
    gist: "run the server",
    text: `Runs until it gets SIGTERM or Ctrl-C, and then lets running work finish (WEIR_SHUTDOWN_GRACE seconds, 30).
The first start prints a link to set up the owner with; weir init does the same without a browser.

${DATA}
  --host HOST        the address to listen on; 127.0.0.1 by default
  --port PORT        8484 by default; 0 takes a free one

Settings come from these flags, then WEIR_* variables, then weir.toml in the data directory; weir config shows them.`,
  },
  demo: {
    line: "weir demo [--once] [--json] [--data DIR] [--port PORT]",
    gist: "see the main job on a sample shop",
    text: `Starts a server on a sample workspace, needs no network, and shows a signed webhook set off an extract, a SQL
transform, a branch and an HTTP call to a small receiver of its own. Goes on serving until Ctrl-C.

  --once             end after the show; exit code 0 only when every step did what it should
  --json             one line of JSON for each step
  --data DIR         keep the workspace there; run again, the demo goes on from it. Else a temporary folder
  --port PORT        a free one by default`,
  },
  init: {
    line: "weir init --email EMAIL --password-stdin --org NAME [--data DIR] [--json]",
    gist: "make the owner without a browser",
    text: `Makes the first owner and organization while no server runs, and prints an access token, this once. Refused
when there is an owner already.

  --email EMAIL      what the owner signs in with
  --password-stdin   read the password from standard input; at least 12 characters
  --org NAME         the organization's name
${DATA}
  --json             {userId, organizationId, organizationSlug, token}`,
  },
  "reset-password": {
    line: "weir reset-password EMAIL [--password-stdin] [--data DIR] [--json]",
    gist: "set a new password",
    text: `Sets a new password while no server runs, and ends the person's sessions. Prints the password unless it comes
from standard input.

  --password-stdin   read the new password from standard input
${DATA}
  --json             {email, sessionsEnded, password}`,
  },
  events: {
    line: "weir events verify [--data DIR] [--json]",
    gist: "check the audit trail",
    text: `Recomputes the chain of hashes of every organization while no server runs; exit code 1 when one does not hold.

${DATA}
  --json             {valid, checked, firstBadId} of all organizations together`,
  },
  config: {
    line: "weir config [--data DIR]",
    gist: "print the settings, secrets masked",
    text: `Prints every setting as a server would use it.

${DATA}`,
  },
  version: {
    line: "weir version [--json]",
    gist: "print the version",
    text: "  --json             {version, commit}",
  },
  help: {
    line: "weir help [COMMAND]",
    gist: "tell how a command is called",
    text: "The same as weir COMMAND --help.",
  },
} as const satisfies Readonly<Record<string, Usage>>;

export const usageOf = (command: string): Usage | null =>
  Object.hasOwn(usage, command) ? usage[command as keyof typeof usage] : null;

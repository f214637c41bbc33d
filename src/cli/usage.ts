import { clientUsage } from "./usage-client.ts";
import { upkeepUsage } from "./usage-upkeep.ts";

/** How each command is called, and what its words mean. */
export interface Usage {
  line: string;
  /** What it does, in one line of the overview. */
  gist: string;
  /** How each of its verbs is called, by the verb. */
  verbs?: Readonly<Record<string, string>>;
  /** More, for `weir help COMMAND`. */
  text: string;
}

const DATA = "  --data DIR         where all state lies; ./weir-data by default, or WEIR_DATA";

const SERVER =
  "  --server URL       WEIR_SERVER or WEIR_BASE_URL by default, then the last one, then http://127.0.0.1:8484";

export const usage = {
  serve: {
    line: "weir serve [--data DIR] [--host HOST] [--port PORT]",
    gist: "run the server",
    text: `Runs until it gets SIGTERM or Ctrl-C, and then lets running work finish (WEIR_SHUTDOWN_GRACE seconds, 30);
what is not done by then goes on after the next start. A second SIGTERM or Ctrl-C ends it at once.
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
    line: "weir reset-password EMAIL [--password-stdin] [--without-second-factor] [--data DIR] [--json]",
    gist: "set a new password",
    text: `Sets a new password and ends the person's sessions, access tokens and device codes, also beside a running server.
Prints the password unless it comes from standard input.

  --password-stdin          read the new password from standard input
  --without-second-factor   turn the second factor off too, which stays otherwise
${DATA}
  --json                    {email, sessionsEnded, tokensEnded, secondFactor, password}`,
  },
  keys: {
    line: "weir keys rotate [--data DIR] [--json]",
    gist: "change the master key",
    text: `Makes a new secret.key and seals every stored secret again, also while a server runs. When it is killed at
any point, the next start goes on with it. Cursors of lists from before ask for a new start; backups from before
need the old key.

With WEIR_SECRET_KEY, restart with the new key there and the old one in WEIR_SECRET_KEY_PREVIOUS instead, until the
log says that the master key has changed.

${DATA}
  --json             {keyId}`,
  },
  login: {
    line: "weir login [--server URL] [--token] [--json]",
    gist: "sign in to a server",
    text: `Shows an address and a code, and waits until you have opened the one in a browser and entered the other. The
token is kept in your config directory (XDG_CONFIG_HOME, else ~/.config), where only you can read it.

${SERVER}
  --token            read an access token from standard input instead
  --json             the address and the code, then who you are, one line of JSON each`,
  },
  logout: {
    line: "weir logout [--server URL] [--json]",
    gist: "sign out, and forget the token",
    text: `Ends the session on the server as well. An access token given to weir login --token stays good.

${SERVER}
  --json             {server, sessionEnded}`,
  },
  whoami: {
    line: "weir whoami [--server URL] [--json]",
    gist: "tell who is signed in",
    text: `Exit code 3 when nobody is.

${SERVER}
  --json             {server, userId, email, firstName, lastName, organizationId, organizationSlug, role}`,
  },
  ...clientUsage,
  ...upkeepUsage,
  config: {
    line: "weir config [accept] [--data DIR] [--json]",
    gist: "print the settings, secrets masked",
    text: `Prints every setting as a server would use it. Exit code 1 if the data directory depends on another database,
lake or key than the settings name.

accept changes what the data directory depends on to what the settings name, after you moved the database or the lake.
It needs the right key, and no server may run on the data directory.

${DATA}
  --json             one object, each setting as a text by its name; with accept {database, lake, lakeEndpoint, keyId}`,
  },
  version: {
    line: "weir version [--json]",
    gist: "print the version",
    text: "  --json             {version, commit}",
  },
  licenses: {
    line: "weir licenses [--json]",
    gist: "print the licenses of all that is in this file",
    text: `Prints the license text of each package that the executable carries.

  --json             [{name, version, license}]`,
  },
  help: {
    line: "weir help [COMMAND]",
    gist: "tell how a command is called",
    text: "The same as weir COMMAND --help.",
  },
} as const satisfies Readonly<Record<string, Usage>>;

export const usageOf = (command: string): Usage | null =>
  Object.hasOwn(usage, command) ? usage[command as keyof typeof usage] : null;

import { clientUsage } from "./usage-client.ts";
import { upkeepUsage } from "./usage-upkeep.ts";

/** Usage text of a command. */
export interface Usage {
  line: string;
  /** What the command does: an imperative phrase in lowercase, shown in the overview. */
  gist: string;
  /** Usage line of each subcommand, by its name. */
  verbs?: Readonly<Record<string, string>>;
  /** Details and flags, for `weir help COMMAND`. */
  text: string;
}

const DATA = "  --data DIR         data directory (default: $WEIR_DATA, or ./weir-data)";

const SERVER = `  --server URL       server URL (default: $WEIR_SERVER, $WEIR_BASE_URL, the last server used, or
                     http://127.0.0.1:8484)`;

export const usage = {
  serve: {
    line: "weir serve [--data DIR] [--host HOST] [--port PORT] [--open]",
    gist: "run the server",
    text: `Runs until it receives SIGTERM or Ctrl-C. Running work then has WEIR_SHUTDOWN_GRACE seconds (default: 30) to finish;
unfinished runs resume after the next start. A second SIGTERM or Ctrl-C stops the server immediately.
The first start prints a setup link for creating the owner. Use "weir init" to do that without a browser.

${DATA}
  --host HOST        address to listen on (default: 127.0.0.1)
  --port PORT        port to listen on; 0 selects a free port (default: 8484)
  --open             open the browser at the setup link, or at the home page

On a terminal, "weir" without a command does the same as "weir serve --open". It uses ./weir-data if that exists, otherwise
a directory for your account: $XDG_DATA_HOME/weir or ~/.local/share/weir, on macOS ~/Library/Application Support/Weir, on
Windows %LOCALAPPDATA%\\Weir. If a server is already running there, it opens that one. --no-open only prints the URL.

Flags override WEIR_* variables, which override weir.toml in the data directory. Run "weir config" to see the settings
in effect.`,
  },
  demo: {
    line: "weir demo [--once] [--json] [--data DIR] [--port PORT]",
    gist: "run a guided demo with sample data",
    text: `Starts a server with a sample workspace and runs an automation: a signed webhook starts an extract, a SQL transform, a
branch and an HTTP call to a local receiver. Needs no network. The server keeps running until Ctrl-C.

  --once             exit when the demo finishes; exit code 1 if a step fails
  --json             print one line of JSON per step
  --data DIR         keep the demo's data in DIR and continue from it next time (default: a temporary directory)
  --port PORT        port to listen on (default: a free port)`,
  },
  init: {
    line: "weir init --email EMAIL --password-stdin --org NAME [--data DIR] [--json]",
    gist: "create the first owner without a browser",
    text: `Creates the first owner and organization and prints an access token once. The server must not be running. Fails if an
owner already exists.

  --email EMAIL      email address of the owner
  --password-stdin   read the password from standard input (at least 12 characters)
  --org NAME         name of the organization
${DATA}
  --json             {userId, organizationId, organizationSlug, token}`,
  },
  "reset-password": {
    line: "weir reset-password EMAIL [--password-stdin] [--without-second-factor] [--data DIR] [--json]",
    gist: "reset a user's password",
    text: `Sets a new password, revokes the user's sessions, access tokens and device codes, and unlinks their Slack accounts. The
server can keep running.
Prints the new password unless it was read from standard input.

  --password-stdin          read the new password from standard input
  --without-second-factor   also turn off the second factor
${DATA}
  --json                    {email, sessionsEnded, tokensEnded, slackLinksEnded, secondFactor, password}`,
  },
  keys: {
    line: "weir keys rotate [--data DIR] [--json]",
    gist: "rotate the master key",
    text: `Generates a new secret.key and re-encrypts all stored secrets. Safe to run while the server is running; an interrupted
rotation resumes on the next start. Page cursors issued before the rotation expire. Existing backups still need the old
key.

If you use WEIR_SECRET_KEY, restart the server with the new key in WEIR_SECRET_KEY and the old one in
WEIR_SECRET_KEY_PREVIOUS instead. Remove the old one when the log reports that the master key was rotated.

${DATA}
  --json             {keyId}`,
  },
  login: {
    line: "weir login [--server URL] [--token] [--json]",
    gist: "sign in to a server",
    text: `Prints a URL and a code, then waits until you have entered the code at that URL in a browser. The token is saved in your
config directory ($XDG_CONFIG_HOME, or ~/.config), readable only by you. If WEIR_TOKEN is set, commands use that token
instead.

${SERVER}
  --token            read an access token from standard input instead
  --json             print the URL and the code, then your account, one line of JSON each`,
  },
  logout: {
    line: "weir logout [--server URL] [--json]",
    gist: "sign out and delete the saved token",
    text: `Also ends the session on the server. Access tokens passed with "weir login --token" are not revoked.

${SERVER}
  --json             {server, sessionEnded}`,
  },
  whoami: {
    line: "weir whoami [--server URL] [--json]",
    gist: "show the current user",
    text: `Exit code 3 if you aren't signed in.

${SERVER}
  --json             {server, userId, email, firstName, lastName, organizationId, organizationSlug, role}`,
  },
  ...clientUsage,
  ...upkeepUsage,
  config: {
    line: "weir config [accept] [--data DIR] [--json]",
    gist: "print the effective configuration",
    text: `Prints every setting as the server would use it, with secrets masked. Exit code 1 if the settings name a different
database, lake or key than the data directory was last used with.

accept records the database and lake that the settings name, after you moved either of them. It requires the right key,
and no server may be using the data directory.

${DATA}
  --json             an object with each setting as a string; with accept {database, lake, lakeEndpoint, keyId}`,
  },
  version: {
    line: "weir version [--json]",
    gist: "print the version",
    text: "  --json             {version, commit}",
  },
  licenses: {
    line: "weir licenses [--json]",
    gist: "print third-party licenses",
    text: `Prints the license text of each package included in the executable.

  --json             [{name, version, license}]`,
  },
  help: {
    line: "weir help [COMMAND]",
    gist: "show help for a command",
    text: 'Same as "weir COMMAND --help".',
  },
} as const satisfies Readonly<Record<string, Usage>>;

export const usageOf = (command: string): Usage | null =>
  Object.hasOwn(usage, command) ? usage[command as keyof typeof usage] : null;

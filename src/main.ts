/** Entry point of the executable: maps arguments to a command. The only module that reads the environment. */

import { existsSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { compileForStart } from "./base/jit.ts";
import type { Wall } from "./base/walls.ts";
import type { Host } from "./cli/host.ts";

type Command = (args: readonly string[], host: Host) => Promise<number>;

/** Commands are loaded on demand, so that small ones start fast. */
const commands: Readonly<Record<string, () => Promise<Command>>> = {
  serve: async () => {
    compileForStart();
    return (await import("./cli/serve.ts")).serve;
  },
  demo: async () => (await import("./cli/demo.ts")).demo,
  init: async () => (await import("./cli/init.ts")).init,
  "reset-password": async () => (await import("./cli/reset-password.ts")).resetPassword,
  events: async () => (await import("./cli/events.ts")).events,
  keys: async () => (await import("./cli/keys.ts")).keys,
  login: async () => (await import("./cli/login.ts")).login,
  logout: async () => (await import("./cli/logout.ts")).logout,
  whoami: async () => (await import("./cli/whoami.ts")).whoami,
  status: async () => (await import("./cli/status.ts")).status,
  actions: async () => (await import("./cli/actions.ts")).actions,
  runs: async () => (await import("./cli/runs.ts")).runs,
  automations: async () => (await import("./cli/automations.ts")).automations,
  approvals: async () => (await import("./cli/approvals.ts")).approvals,
  connections: async () => (await import("./cli/connections.ts")).connections,
  datasets: async () => (await import("./cli/datasets.ts")).datasets,
  bundles: async () => (await import("./cli/bundles.ts")).bundles,
  query: async () => (await import("./cli/query.ts")).query,
  webhooks: async () => (await import("./cli/webhooks.ts")).webhooks,
  organization: async () => (await import("./cli/organization.ts")).organization,
  openapi: async () => (await import("./cli/openapi.ts")).openapi,
  schema: async () => (await import("./cli/schema.ts")).schema,
  api: async () => (await import("./cli/api.ts")).api,
  completion: async () => (await import("./cli/completion.ts")).completion,
  backup: async () => (await import("./cli/backup.ts")).backup,
  move: async () => (await import("./cli/move.ts")).move,
  restore: async () => (await import("./cli/restore.ts")).restore,
  service: async () => (await import("./cli/service.ts")).service,
  upgrade: async () => (await import("./cli/upgrade.ts")).upgrade,
  licenses: async () => (await import("./cli/licenses.ts")).licenses,
  doctor: async () => (await import("./cli/doctor.ts")).doctor,
  export: async () => (await import("./cli/export.ts")).exportConfig,
  apply: async () => (await import("./cli/apply.ts")).apply,
  diff: async () => (await import("./cli/diff.ts")).diff,
  config: async () => (await import("./cli/config.ts")).config,
  version: async () => (await import("./cli/version.ts")).printVersion,
  help: async () => (await import("./cli/help.ts")).help,
};

const ALIASES: Readonly<Record<string, string>> = {
  "--help": "help",
  "-h": "help",
  "--version": "version",
  "-v": "version",
};

/** True in the compiled executable, whose files are in a virtual file system. */
const isCompiled = Bun.main.startsWith("/$bunfs/") || Bun.main.includes("~BUN");
const LONG_MS = 2 ** 30;

/** Linux's path of the running executable: after an upgrade, children of a running server still have its version. */
const OWN_FILE = "/proc/self/exe";
const program = isCompiled && existsSync(OWN_FILE) ? OWN_FILE : process.execPath;
const self = isCompiled ? [program] : [program, Bun.main];

/** Files of a source tree that its child processes read. */
const SOURCES = ["src", "web", "node_modules", "package.json", "tsconfig.json"];

/** What commands see of this process. */
async function openHost(): Promise<Host> {
  const { personOf } = await import("./cli/credentials.ts");
  const { askPerson, openOutput } = await import("./cli/terminal.ts");
  const isTerminal = process.stderr.isTTY === true;
  const err = (line: string) => void process.stderr.write(`${line}\n`);
  const columns = () => (process.stderr.columns || 80) - 1;
  return {
    ...openOutput(),
    isTerminal,
    width: process.stdout.isTTY === true ? process.stdout.columns || 80 : null,
    ask: isTerminal && process.stdin.isTTY === true ? askPerson : null,
    hasColor: process.stdout.isTTY === true && !process.env.NO_COLOR,
    self,
    person: personOf(process.env),
    env: process.env,
    err,
    status: (text) => void (isTerminal && process.stderr.write(`\r\x1b[2K${text.slice(0, columns())}`)),
    stdin: () => Bun.stdin.text(),
    input: () => Bun.stdin.stream(),
    async parts(flags) {
      const { partsFrom } = await import("./cli/settings.ts");
      return partsFrom(flags, process.env, { isTerminal, self, err });
    },
    onStop(stop) {
      let isAsked = false;
      for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
        process.on(signal, () => {
          if (isAsked) process.exit(128 + constants.signals[signal]);
          isAsked = true;
          stop();
        });
      }
    },
  };
}

/** Child processes that handle tenants' input. Each is a hidden command. */
const children: Readonly<Record<string, (walls: readonly Wall[]) => Promise<number | null>>> = {
  __sql: async () => {
    // DuckDB's driver calls it on load.
    // This child runs in UTC, and computing the offset takes an eighth of its start time.
    Date.prototype.getTimezoneOffset = () => 0;
    return (await import("./sql/child.ts")).sqlChild();
  },
  __draw: async () => (await import("./charts/child.ts")).drawChild(),
  __read: async () => (await import("./reader/child.ts")).readChild(),
  __sheet: async () => (await import("./sheets/child.ts")).sheetChild(),
  __compute: async () => (await import("./compute/child.ts")).computeChild(),
  __script: async () => (await import("./scripts/child.ts")).scriptChild(),
  __api: async () => (await import("./catalog/reader.ts")).readerChild(),
  __walls: async (walls) => {
    process.stdout.write(`${JSON.stringify(walls)}\n`);
    return 0;
  },
};

/** Returns the exit code. Null for a child that lives until its parent ends it. */
async function main(): Promise<number | null> {
  const [name, ...rest] = process.argv.slice(2);
  if (name === undefined || (name.startsWith("-") && !Object.hasOwn(ALIASES, name)))
    return alone(process.argv.slice(2));
  const child = Object.hasOwn(children, name) ? children[name] : undefined;
  if (child) {
    const { standBehindWalls } = await import("./base/walls.ts");
    const sources = isCompiled ? [] : SOURCES.map((name) => join(import.meta.dir, "..", name));
    return child(standBehindWalls([...self, name, ...rest], sources, process.env));
  }
  const commandName = ALIASES[name] ?? name;
  const wantsHelp = rest.includes("--help") || rest.includes("-h");
  const load = Object.hasOwn(commands, commandName) ? commands[wantsHelp ? "help" : commandName] : undefined;
  if (!load) {
    const { unknownCommand } = await import("./cli/help.ts");
    process.stderr.write(`weir: ${unknownCommand(name)}\n`);
    return 2;
  }
  // A pending wait alone doesn't keep the process alive: without a timer, it would end midway with code 0.
  setInterval(() => undefined, LONG_MS);
  const command = await load();
  return command(wantsHelp ? [commandName] : rest, await openHost());
}

/** Runs `weir` without a command. */
async function alone(args: readonly string[]): Promise<number> {
  const isAsked = args.some((word) => ALIASES[word] === "help");
  const { start } = await import("./cli/start.ts");
  const { help } = await import("./cli/help.ts");
  setInterval(() => undefined, LONG_MS);
  const host = await openHost();
  return isAsked ? help([], host) : start(args, host);
}

main().then(
  (code) => {
    if (code !== null) process.exit(code);
  },
  (error: unknown) => {
    process.stderr.write(
      `weir: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
    );
    process.exit(1);
  },
);

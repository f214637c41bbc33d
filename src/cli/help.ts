import { meant } from "../base/nearest.ts";
import { carryOut, type Host, readArgs, UsageError } from "./host.ts";
import { type Usage, usage, usageOf } from "./usage.ts";
import { listed } from "./verbs.ts";
import { wrapped } from "./wrap.ts";

const COMMAND_WIDTH = 16;
/** Maximum number of suggestions for a misplaced subcommand, such as `weir approve`. */
const MAX_MEANT = 3;

/** Sections of the overview, in order. Commands in no section are listed last. */
const SECTIONS: Readonly<Record<string, readonly (keyof typeof usage)[]>> = {
  "Get started": ["demo", "init", "serve"],
  "Use a server": [
    "login",
    "logout",
    "whoami",
    "status",
    "actions",
    "runs",
    "automations",
    "approvals",
    "connections",
    "datasets",
    "bundles",
    "query",
    "events",
    "webhooks",
    "api",
  ],
  "Configuration as files": ["export", "diff", "apply"],
  "Operate a server": [
    "config",
    "doctor",
    "backup",
    "restore",
    "move",
    "upgrade",
    "service",
    "organization",
    "keys",
    "reset-password",
  ],
};

/** `weir help`: all commands, or the details of one. */
export const help = (args: readonly string[], host: Host) =>
  carryOut(host, usage.help.line, async () => {
    const { positionals } = readArgs({ args: [...args], allowPositionals: true, options: {} });
    const [command, ...more] = positionals;
    if (command === undefined) return host.out(overview());
    const about = usageOf(command);
    const verb = more.join(" ");
    const isVerb = Object.keys(about?.verbs ?? {}).some((name) => `${name} `.startsWith(`${verb} `));
    if (!about || (verb !== "" && !isVerb)) throw new UsageError(unknownCommand(positionals.join(" ")));
    const verbs = Object.values(about.verbs ?? {});
    const text = [
      `Usage: ${about.line}`,
      "",
      ...verbs.map((line) => `  ${line}`),
      ...(verbs.length > 0 ? [""] : []),
      about.text,
    ].join("\n");
    host.out(host.width === null ? text : wrapped(text, host.width));
  });

export function unknownCommand(name: string): string {
  const all: Readonly<Record<string, Usage>> = usage;
  const owners = Object.keys(all).filter((command) => all[command]?.verbs?.[name] !== undefined);
  const close = meant(name, Object.keys(usage));
  const commands =
    owners.length > 0 && owners.length <= MAX_MEANT
      ? owners.map((owner) => `${owner} ${name}`)
      : close === null
        ? []
        : [close];
  const hint =
    commands.length === 0 ? "" : ` Did you mean ${listed(commands.map((command) => `"weir ${command}"`))}?`;
  return `Unknown command: ${name}.${hint} Run "weir help" for a list.`;
}

/** Lists all commands by section. Included in the README. */
export function overview(): string {
  const listed = Object.values(SECTIONS).flat();
  const rest = (Object.keys(usage) as (keyof typeof usage)[]).filter((name) => !listed.includes(name));
  const sections = Object.entries({ ...SECTIONS, More: rest });
  return [
    "Weir is a self-hosted automation and data integration server.",
    "",
    "Usage: weir COMMAND [ARGS] [FLAGS]",
    "       weir [--data DIR] [--port PORT] [--no-open]",
    "",
    ...sections.flatMap(([title, names]) => [
      title,
      ...names.map((name) => `  ${name.padEnd(COMMAND_WIDTH)}${usage[name].gist}`),
      "",
    ]),
    'Run "weir help COMMAND" for details and examples.',
    "Exit codes: 0 success, 1 failure, 2 usage error, 3 not signed in.",
  ].join("\n");
}

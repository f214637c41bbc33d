import type { Usage } from "./usage.ts";

/** What can follow a command and its subcommands. */
export interface Completions {
  /** The command and its subcommands, separated by spaces. Empty before the command. */
  path: string;
  /** Subcommands, or words in the usage line. */
  next: string[];
  flags: string[];
  /** Flags that take a value. */
  values: string[];
}

/** A way to call a command: `weir a b|c [--x]` has the variants `a b` and `a c`. */
interface Variant {
  path: string;
  flags: readonly string[];
}

const FLAG = /(?<![\w-])(?:-[a-z]|--[a-z][a-z-]*)(?![\w-])/g;
const WITH_VALUE = /(?<![\w-])(-[a-z]|--[a-z][a-z-]*) (?=[A-Z]|wide\b)/g;
/** A flag at the start of a line in the details: its short form, its name and its value. */
const DETAIL = /^ {2}(?:(-[a-z]), )?(--[a-z][a-z-]*)( [A-Z]+)?/gm;

/** Returns what can follow each command and subcommand, from the usage of the commands. */
export function completionTable(usage: Readonly<Record<string, Usage>>): Completions[] {
  const commands = Object.keys(usage);
  const start: Completions = { path: "", next: commands, flags: ["--help", "--version"], values: [] };
  const entries = Object.entries(usage).flatMap(([name, about]) => completionsIn(name, about));
  return [start, ...entries.map((entry) => (entry.path === "help" ? { ...entry, next: commands } : entry))];
}

function completionsIn(name: string, about: Usage): Completions[] {
  const details = [...about.text.matchAll(DETAIL)];
  const longNames = new Map(details.flatMap(([, short, long = ""]) => (short ? [[short, long]] : [])));
  const lines = about.verbs ? Object.values(about.verbs) : about.line.split(", or ");
  const variants = lines.flatMap((line) => variantsOf(name, line, longNames));
  const inLines = [...new Set(variants.flatMap(({ flags }) => flags))];
  // flags that appear only in the details belong to all subcommands
  const shared = details.flatMap(([, , flag = ""]) => (inLines.includes(flag) ? [] : [flag]));
  const values = new Set([
    ...lines.flatMap((line) => [...line.matchAll(WITH_VALUE)].map(([, flag = ""]) => flag)),
    ...details.flatMap(([, , flag = "", value]) => (value === undefined ? [] : [flag])),
  ]);
  const paths = new Set(variants.flatMap(({ path }) => beginnings(path)));
  return [...paths].map((path) => {
    const below = variants.filter((variant) => `${variant.path} `.startsWith(`${path} `));
    const own = below.filter((variant) => variant.path === path);
    const named =
      own.length > 0
        ? own.flatMap((variant) => variant.flags)
        : inLines.filter((flag) => below.every((variant) => variant.flags.includes(flag)));
    const flags = [...new Set([...named, ...shared, "--help"])].sort();
    const depth = path.split(" ").length;
    const next = [...new Set(below.flatMap((variant) => variant.path.split(" ")[depth] ?? []))];
    return { path, next, flags, values: flags.filter((flag) => values.has(flag)) };
  });
}

function variantsOf(name: string, line: string, longNames: ReadonlyMap<string, string>): Variant[] {
  const [, , ...words] = line.split(" ");
  const end = words.findIndex((word) => !/^\[?[a-z][a-z|-]*\]?$/.test(word));
  const verbs = words.slice(0, end < 0 ? words.length : end);
  const isOptional = verbs[0]?.startsWith("[") === true;
  const paths = verbs
    .map((word) => word.replace(/[[\]]/g, "").split("|"))
    .reduce((made, choices) => made.flatMap((path) => choices.map((choice) => `${path} ${choice}`)), [name]);
  const flags = (line.match(FLAG) ?? []).flatMap((flag) => [flag, longNames.get(flag) ?? []].flat());
  return [...(isOptional ? [name] : []), ...paths].map((path) => ({ path, flags }));
}

/** `a`, `a b` and `a b c` for `a b c`. */
const beginnings = (path: string): string[] =>
  path.split(" ").map((_, at, words) => words.slice(0, at + 1).join(" "));

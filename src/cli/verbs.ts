import type { ParseArgsConfig } from "node:util";
import type { Call, CallInput, Reply } from "../calls.ts";
import { signedIn, whileSignedIn } from "./account.ts";
import type { Client } from "./client.ts";
import { carryOut, type Host, readArgs, UsageError } from "./host.ts";
import { type Usage, usageOf } from "./usage.ts";

type Options = NonNullable<ParseArgsConfig["options"]>;

/** Flags of every command that sends requests to a server. */
const SHARED = {
  server: { type: "string" },
  org: { type: "string" },
  json: { type: "boolean" },
} as const satisfies Options;

/** Flags of a command with a paginated list. */
export const LISTING = {
  limit: { type: "string" },
  offset: { type: "string" },
  output: { type: "string", short: "o" },
} as const satisfies Options;

type Value<O extends Options[string]> = O["type"] extends "boolean" ? boolean : string;
type Flags<O extends Options> = {
  [K in keyof O]?: O[K]["multiple"] extends true ? Value<O[K]>[] : Value<O[K]>;
};

/** Parsed arguments of a command. */
export interface CommandInput<O extends Options = typeof SHARED> {
  flags: Flags<O & typeof SHARED>;
  /** The positional arguments after the subcommand. */
  words: readonly string[];
  host: Host;
}

/** A subcommand. */
export interface Verb {
  /** Its positional arguments, such as `ACTION`. `[X]` is optional, `X...` can be repeated. */
  words: string;
  options: Options;
  run(input: CommandInput<Options>): Promise<void>;
}

export const verb = <const O extends Options = Record<never, never>>(described: {
  words?: string;
  options?: O;
  run(input: CommandInput<O>): Promise<void>;
}): Verb => ({
  words: described.words ?? "",
  options: { ...SHARED, ...described.options },
  run: described.run as Verb["run"],
});

/**
 * Builds the command `weir NOUN VERB …` from its subcommands.
 * A subcommand's name can be two words, such as `runs list`.
 */
export function commandOf(noun: string, verbs: Readonly<Record<string, Verb>>) {
  const usage = usageOf(noun);
  return (args: readonly string[], host: Host): Promise<number> => {
    const name = verbIn(args, verbs);
    const line = (name !== null && usage?.verbs?.[name]) || (usage?.line ?? noun);
    return carryOut(host, line, async () => {
      const found = name === null ? undefined : verbs[name];
      if (!found) throw new UsageError(missingVerb(noun, verbs, args));
      await runVerb(found, args, host, (name ?? "").split(" ").length);
    });
  };
}

/** Builds the command `weir NAME …`, which has no subcommands. */
export const singleCommand = (usage: Usage, only: Verb) => (args: readonly string[], host: Host) =>
  carryOut(host, usage.line, () => runVerb(only, args, host, 0));

/** Returns the subcommand in the words, skipping flags and their values. Null if there is none. */
function verbIn(args: readonly string[], verbs: Readonly<Record<string, Verb>>): string | null {
  const takesValue = (word: string) =>
    Object.values(verbs).some(({ options }) => options[word.slice(2)]?.type === "string");
  const words: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? "";
    if (!word.startsWith("-")) words.push(word);
    else if (word.startsWith("--") && takesValue(word)) at++;
  }
  const names = [words.slice(0, 2).join(" "), words[0] ?? ""];
  return names.find((name) => Object.hasOwn(verbs, name)) ?? null;
}

async function runVerb(found: Verb, args: readonly string[], host: Host, nameLength: number): Promise<void> {
  const read = readArgs({ args: [...args], allowPositionals: true, options: found.options });
  const words = read.positionals.slice(nameLength);
  checkWords(found.words, words);
  await found.run({ flags: read.values as Flags<Options>, words, host } as CommandInput<Options>);
}

/** Throws `UsageError` if there are too few or too many arguments. */
function checkWords(taken: string, words: readonly string[]): void {
  const names = taken === "" ? [] : taken.split(" ");
  const missing = names[words.length];
  if (missing !== undefined && !missing.startsWith("["))
    throw new UsageError(`Missing argument: ${missing}.`);
  const extra = words[names.length];
  if (extra !== undefined && names.at(-1)?.includes("...") !== true)
    throw new UsageError(unexpectedArgument(extra));
}

/** The same for subcommands that can have subcommands of their own. */
function missingVerb(noun: string, verbs: Readonly<Record<string, Verb>>, args: readonly string[]): string {
  const names = Object.keys(verbs).map((name) => name.split(" "));
  const [first = "", ...rest] = args;
  const inner = names.filter(([name, second]) => name === first && second !== undefined);
  if (inner.length > 0)
    return missingSubcommand(
      `${noun} ${first}`,
      inner.map(([, second = ""]) => second),
      rest,
    );
  return missingSubcommand(noun, [...new Set(names.map(([name = ""]) => name))], args);
}

/** Reports that `args` start with an unknown subcommand, or with none. */
export function missingSubcommand(
  command: string,
  verbs: readonly string[],
  args: readonly string[],
): string {
  const [word = "-"] = args;
  const fault = word.startsWith("-") ? "Missing subcommand" : `Unknown subcommand ${word}`;
  return `${fault} for "weir ${command}". Use ${listed(verbs)}.`;
}

export const unexpectedArgument = (word: string): string => `Unexpected argument: ${word}.`;

export const listed = (names: readonly string[]) =>
  names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`;

/** A parsed response body and its raw text. */
export interface TextReply<T> {
  body: T;
  text: string;
  /** The response's `ETag`. Null if it has none. */
  tag: string | null;
}

/** Sends requests to a server as the signed-in user. */
export interface Api {
  server: string;
  /** Sends values unvalidated: the server reports what is wrong with them. */
  call<K extends Call>(address: K, input: Typed<K> & Conditions): Promise<TextReply<Reply<K>>>;
  get<T>(path: string, query?: Query): Promise<TextReply<T>>;
  send<T>(method: string, path: string, body?: unknown): Promise<TextReply<T>>;
  open: Client["open"];
}

interface Conditions {
  /** Disables the timeout. */
  isLong?: boolean;
  /** `ETag` of the state that the call changes. If it differs by now, the server rejects the call. */
  ifMatch?: string | null;
}

type Query = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

/** Input of a call with checked names and unchecked values. */
type Typed<K extends Call> = {
  [Part in keyof CallInput<K>]: { [Name in keyof CallInput<K>[Part]]?: unknown };
};

/** Throws `NotSignedIn`, also later if the server rejects the token. */
export function apiOf({ flags, host }: Pick<CommandInput, "flags" | "host">): Api {
  const { server, client } = signedIn(host, flags.server, flags.org);
  return {
    server,
    call<K extends Call>(address: K, input: Typed<K> & Conditions) {
      const { path = {}, query = {}, body, isLong = false, ifMatch = null } = input as Parts;
      const [method = "", template = ""] = address.split(" ");
      const at = template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name] ?? ""));
      const saying = {
        ...(isLong ? { timeoutMs: 0 } : {}),
        ...(ifMatch === null ? {} : { headers: { "if-match": ifMatch } }),
      };
      return whileSignedIn(server, tagged(client.say<Reply<K>>(method, at + queryText(query), body, saying)));
    },
    get: <T>(path: string, query: Query = {}) =>
      whileSignedIn(server, tagged(client.say<T>("GET", path + queryText(query)))),
    send: <T>(method: string, path: string, body?: unknown) =>
      whileSignedIn(server, tagged(client.say<T>(method, path, body))),
    open: (method, path, saying) => whileSignedIn(server, client.open(method, path, saying)),
  };
}

interface Parts extends Conditions {
  path?: Record<string, string>;
  query?: Query;
  body?: unknown;
}

async function tagged<T>(reply: Promise<{ body: T; text: string; headers: Headers }>): Promise<TextReply<T>> {
  const { body, text, headers } = await reply;
  return { body, text, tag: headers.get("etag") };
}

/** Returns `?…` with the defined values. Lists become repeated parameters. */
export function queryText(query: Query): string {
  const fields = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : value === undefined ? [] : [value])
      fields.append(name, String(one));
  }
  return fields.size === 0 ? "" : `?${fields}`;
}

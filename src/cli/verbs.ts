import type { ParseArgsConfig } from "node:util";
import type { Call, CallInput, Reply } from "../calls.ts";
import { signedIn, whileSignedIn } from "./account.ts";
import type { Client } from "./client.ts";
import { carryOut, type Host, readArgs, UsageError } from "./host.ts";
import { type Usage, usageOf } from "./usage.ts";

type Options = NonNullable<ParseArgsConfig["options"]>;

/** What every command takes that is a client of a server. */
const SHARED = {
  server: { type: "string" },
  org: { type: "string" },
  json: { type: "boolean" },
} as const satisfies Options;

type Value<O extends Options[string]> = O["type"] extends "boolean" ? boolean : string;
type Flags<O extends Options> = {
  [K in keyof O]?: O[K]["multiple"] extends true ? Value<O[K]>[] : Value<O[K]>;
};

/** What somebody asked of a command. */
export interface CommandInput<O extends Options = typeof SHARED> {
  flags: Flags<O & typeof SHARED>;
  /** The words after the verb; as many as the verb takes. */
  words: readonly string[];
  host: Host;
}

/** One thing that a command does. */
export interface Verb {
  /** What it takes beside its flags, such as `ACTION`; `[X]` may be absent, `X...` may be many. */
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

/** `weir NOUN VERB …`: the command that these verbs make. */
export function commandOf(noun: string, verbs: Readonly<Record<string, Verb>>) {
  const usage = usageOf(noun);
  return (args: readonly string[], host: Host): Promise<number> => {
    const name = verbIn(args, verbs);
    const line = (name !== null && usage?.verbs?.[name]) || (usage?.line ?? noun);
    return carryOut(host, line, async () => {
      const found = name === null ? undefined : verbs[name];
      if (!found) throw new UsageError(`Say what to do with ${noun}: ${listed(Object.keys(verbs))}.`);
      await runVerb(found, args, host, true);
    });
  };
}

/** `weir NAME …`, which does one thing. */
export const singleCommand = (usage: Usage, only: Verb) => (args: readonly string[], host: Host) =>
  carryOut(host, usage.line, () => runVerb(only, args, host, false));

/** The first word that is no flag, nor what a flag is given. Null where it is no verb. */
function verbIn(args: readonly string[], verbs: Readonly<Record<string, Verb>>): string | null {
  const takesValue = (word: string) =>
    Object.values(verbs).some(({ options }) => options[word.slice(2)]?.type === "string");
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? "";
    if (!word.startsWith("-")) return Object.hasOwn(verbs, word) ? word : null;
    if (word.startsWith("--") && takesValue(word)) at++;
  }
  return null;
}

async function runVerb(found: Verb, args: readonly string[], host: Host, isNamed: boolean): Promise<void> {
  const read = readArgs({ args: [...args], allowPositionals: true, options: found.options });
  const words = isNamed ? read.positionals.slice(1) : read.positionals;
  checkWords(found.words, words);
  await found.run({ flags: read.values as Flags<Options>, words, host } as CommandInput<Options>);
}

/** Throws `UsageError` where there are fewer or more words than a verb takes. */
function checkWords(taken: string, words: readonly string[]): void {
  const names = taken === "" ? [] : taken.split(" ");
  const missing = names[words.length];
  if (missing !== undefined && !missing.startsWith("[")) throw new UsageError(`${missing} is missing.`);
  const extra = words[names.length];
  if (extra !== undefined && names.at(-1)?.includes("...") !== true)
    throw new UsageError(`There is nothing to do with ${extra}.`);
}

export const listed = (names: readonly string[]) =>
  names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`;

/** A reply and the very text that it came as. */
export interface TextReply<T> {
  body: T;
  text: string;
}

/** Asks a server on behalf of whoever is signed in to it. */
export interface Api {
  server: string;
  /** What people type is sent as it is: the server says what is wrong with it. `isLong`: it takes as long as it takes. */
  call<K extends Call>(address: K, input: Typed<K> & { isLong?: boolean }): Promise<TextReply<Reply<K>>>;
  get<T>(path: string, query?: Query): Promise<TextReply<T>>;
  send<T>(method: string, path: string, body?: unknown): Promise<TextReply<T>>;
  open: Client["open"];
}

type Query = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

/** What a call is given, names checked and values not. */
type Typed<K extends Call> = {
  [Part in keyof CallInput<K>]: { [Name in keyof CallInput<K>[Part]]?: unknown };
};

/** Throws `NotSignedIn`, also later, where the token is not taken any more. */
export function apiOf({ flags, host }: Pick<CommandInput, "flags" | "host">): Api {
  const { server, client } = signedIn(host, flags.server, flags.org);
  return {
    server,
    call<K extends Call>(address: K, input: Typed<K> & { isLong?: boolean }) {
      const { path = {}, query = {}, body, isLong = false } = input as Parts;
      const [method = "", template = ""] = address.split(" ");
      const at = template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name] ?? ""));
      const saying = isLong ? { timeoutMs: 0 } : {};
      return whileSignedIn(server, client.say<Reply<K>>(method, at + queryText(query), body, saying));
    },
    get: <T>(path: string, query: Query = {}) =>
      whileSignedIn(server, client.say<T>("GET", path + queryText(query))),
    send: <T>(method: string, path: string, body?: unknown) =>
      whileSignedIn(server, client.say<T>(method, path, body)),
    open: (method, path, saying) => whileSignedIn(server, client.open(method, path, saying)),
  };
}

interface Parts {
  path?: Record<string, string>;
  query?: Query;
  body?: unknown;
  isLong?: boolean;
}

/** `?…` with what is given; lists are repeated. */
export function queryText(query: Query): string {
  const fields = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : value === undefined ? [] : [value])
      fields.append(name, String(one));
  }
  return fields.size === 0 ? "" : `?${fields}`;
}

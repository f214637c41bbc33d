import { existsSync } from "node:fs";
import { join } from "node:path";
import { type ParseArgsConfig, parseArgs } from "node:util";
import type { Opened, Parts } from "../app.ts";
import { ConfigError } from "../base/config-error.ts";
import { AppError } from "../base/errors.ts";
import { meant } from "../base/nearest.ts";
import type { Person } from "./credentials.ts";

/** What a command sees of its terminal and environment. */
export interface Host {
  /** Reads settings from these flags, then the environment, then `weir.toml`. Throws `ConfigError`. */
  parts(flags: { data?: string; host?: string; port?: string }): Promise<Parts>;
  /** True if standard error is a terminal. */
  readonly isTerminal: boolean;
  /** Width of the terminal on standard output. Null if it isn't a terminal. */
  readonly width: number | null;
  /** Asks a question on the terminal. If `isHidden`, the answer isn't shown. Null without a terminal. */
  readonly ask: ((question: string, isHidden: boolean) => Promise<string>) | null;
  /** True if standard output supports colors. */
  readonly hasColor: boolean;
  /** The command that starts this program. */
  readonly self: readonly string[];
  /** The user's environment, for client commands. */
  readonly person: Person;
  /** Environment variables, for the placeholders of `weir apply`. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Calls `stop` when the process is asked to end. The second time, the process ends immediately. */
  onStop(stop: () => void): void;
  /** Reads all of standard input. */
  stdin(): Promise<string>;
  /** Streams standard input. */
  input(): AsyncIterable<Uint8Array>;
  out(line: string): void;
  /** Writes bytes to standard output. */
  write(bytes: Uint8Array): void;
  /** False when the reader of standard output is gone. Further output is dropped. */
  isRead(): boolean;
  err(line: string): void;
  /** Shows a status line on a terminal that replaces the previous one. An empty text removes it. */
  status(text: string): void;
}

/** Invalid arguments. Ends with exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** No token for the server, or one that it rejects. Ends with exit code 3. */
export class NotSignedIn extends Error {
  override readonly name = "NotSignedIn";
}

/** Parses a command's arguments. Throws `UsageError`. */
export function readArgs<const T extends ParseArgsConfig>(config: T): ReturnType<typeof parseArgs<T>> {
  try {
    return parseArgs(config);
  } catch (cause) {
    throw new UsageError(argumentFault(cause, config.options ?? {}), { cause });
  }
}

/** Returns what is wrong with the arguments, instead of Node's message. */
function argumentFault(error: unknown, options: NonNullable<ParseArgsConfig["options"]>): string {
  const message = error instanceof Error ? error.message : String(error);
  const [, word = ""] = /'(-{0,2}[^' ]*)/.exec(message) ?? [];
  switch (error instanceof Error && "code" in error ? error.code : null) {
    case "ERR_PARSE_ARGS_UNKNOWN_OPTION": {
      const name = word.startsWith("--") ? meant(word.slice(2), Object.keys(options)) : null;
      return `Unknown flag: ${word}.${name === null ? "" : ` Did you mean --${name}?`}`;
    }
    case "ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL":
      return `Unexpected argument: ${word}.`;
    case "ERR_PARSE_ARGS_INVALID_OPTION_VALUE":
      return message.includes("does not take") ? `${word} takes no value.` : `${word} requires a value.`;
    default:
      return message;
  }
}

/** Prints an error on standard error, with the name of the program. */
export function printError(host: Host, message: string): void {
  const isOpen = !message.includes("\n") && !/[.!?:…)]$/.test(message);
  host.err(`weir: ${message}${isOpen ? "." : ""}`);
}

/** Returns the message of an operating system error, such as a read-only folder. Null for any other error. */
function refusalIn(error: unknown): string | null {
  if (!(error instanceof Error) || !("syscall" in error && "code" in error)) return null;
  return /^E[A-Z]+$/.test(String(error.code)) ? `System error: ${error.message}.` : null;
}

/** Runs a command. Returns its exit code, after printing the error to stderr. Rethrows bugs. */
export async function carryOut(host: Host, usage: string, work: () => Promise<void>): Promise<0 | 1 | 2 | 3> {
  try {
    await work();
    return 0;
  } catch (error) {
    if (error instanceof UsageError) {
      printError(host, error.message);
      host.err(`Usage: ${usage}`);
      return 2;
    }
    const isMissing = error instanceof NotSignedIn;
    const isOurs = isMissing || error instanceof AppError || error instanceof ConfigError;
    const message = isOurs ? error.message : refusalIn(error);
    if (message === null) throw error;
    printError(host, message);
    return isMissing ? 3 : 1;
  }
}

/** Opens the data directory without a server while `work` runs. Loads the server's code only then. */
export async function withApp<T>(
  parts: Parts,
  work: (app: Opened["app"]) => Promise<T>,
  options?: { accepted: boolean },
): Promise<T> {
  const { openApp } = await import("../app.ts");
  const opened = await openApp(parts, options);
  try {
    return await work(opened.app);
  } finally {
    await opened.close();
  }
}

/** Like `withApp`, for commands that need an existing data directory. Never creates one. */
export async function withData<T>(
  parts: Parts,
  work: (app: Opened["app"]) => Promise<T>,
  options?: { accepted: boolean },
): Promise<T> {
  const { checkInstallation } = await import("../installation.ts");
  if (!options?.accepted) checkInstallation(parts); // before a database elsewhere is taken for a missing one
  const { dataFolder, databaseUrl } = parts.config;
  if (databaseUrl === null && !existsSync(join(dataFolder, "weir.db"))) {
    throw new AppError("not_found", `No database in ${dataFolder}. Set --data to the data directory.`);
  }
  return withApp(parts, work, options);
}

/** A password from standard input, without the trailing line break. */
export const readSecret = async (host: Host): Promise<string> => (await host.stdin()).replace(/\r?\n$/, "");

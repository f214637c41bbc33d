import { existsSync } from "node:fs";
import { join } from "node:path";
import { type ParseArgsConfig, parseArgs } from "node:util";
import type { Opened, Parts } from "../app.ts";
import { ConfigError } from "../base/config-error.ts";
import { AppError } from "../base/errors.ts";
import { meant } from "../base/nearest.ts";
import type { Person } from "./credentials.ts";

/** What a command has from the terminal that it was started in. */
export interface Host {
  /** Settings from these flags, then the environment, then `weir.toml`. Throws `ConfigError`. */
  parts(flags: { data?: string; host?: string; port?: string }): Promise<Parts>;
  /** True where standard error is a terminal that people read. */
  readonly isTerminal: boolean;
  /** Columns of the terminal that shows standard output; null where none does. */
  readonly width: number | null;
  /** Asks the person at the terminal, and does not show the answer where it is `hidden`; null where nobody is there. */
  readonly ask: ((question: string, isHidden: boolean) => Promise<string>) | null;
  /** True where standard output shows colours. */
  readonly hasColor: boolean;
  /** The command that starts this same program. */
  readonly self: readonly string[];
  /** Whose terminal it is, for the commands that are a client. */
  readonly person: Person;
  /** What stands in the environment, for the placeholders of `weir apply`. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Calls `stop` when the process is asked to end; asked again, it ends at once. */
  onStop(stop: () => void): void;
  /** All of standard input, to its end. */
  stdin(): Promise<string>;
  /** The bytes of standard input as they come. */
  input(): AsyncIterable<Uint8Array>;
  out(line: string): void;
  /** Bytes of standard output as they are. */
  write(bytes: Uint8Array): void;
  /** False once whoever read standard output has gone; what is printed then is dropped. */
  isRead(): boolean;
  err(line: string): void;
  /** One line in place of the one before, on a terminal that people watch; an empty text takes it away. */
  status(text: string): void;
}

/** Invalid arguments; ends with exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** No token for the server, or one that it rejects; ends with exit code 3. */
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

/** What is wrong with the arguments, in place of what Node says of them. */
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

/** Prints an error as every command does: on standard error, after the name of the program. */
export function printError(host: Host, message: string): void {
  const isOpen = !message.includes("\n") && !/[.!?:…)]$/.test(message);
  host.err(`weir: ${message}${isOpen ? "." : ""}`);
}

/** Returns the message of an operating system error, such as a read-only folder; null for any other error. */
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
    const said = isOurs ? error.message : refusalIn(error);
    if (said === null) throw error;
    printError(host, said);
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

/** As `withApp`, for what makes no sense in a folder that Weir has never been in: one is not made there. */
export async function withData<T>(
  parts: Parts,
  work: (app: Opened["app"]) => Promise<T>,
  options?: { accepted: boolean },
): Promise<T> {
  const { checkInstallation } = await import("../installation.ts");
  if (!options?.accepted) checkInstallation(parts); // before a database elsewhere is taken for one that is missing
  const { dataFolder, databaseUrl } = parts.config;
  if (databaseUrl === null && !existsSync(join(dataFolder, "weir.db"))) {
    throw new AppError("not_found", `No database in ${dataFolder}. Set --data to the data directory.`);
  }
  return withApp(parts, work, options);
}

/** A password as it comes through a pipe: without the line break at its end. */
export const readSecret = async (host: Host): Promise<string> => (await host.stdin()).replace(/\r?\n$/, "");

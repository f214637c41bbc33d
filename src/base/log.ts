import type { Clock } from "./clock.ts";
import { maskSecrets } from "./mask.ts";

export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
export type Level = (typeof LOG_LEVELS)[number];

/** Fields in addition to the message. Never credentials. */
type LogFields = Readonly<Record<string, unknown>>;

export interface Log {
  write(level: Level, message: string, fields?: LogFields): void;
  /** Logs an error that isn't reported anywhere else, with its cause and stack. */
  report(error: unknown, fields?: LogFields): void;
}

/** Logs lines of JSON, or readable ones for a terminal. `sink` gets each without its line break. */
export function openLog(options: {
  level: Level;
  pretty: boolean;
  clock: Clock;
  sink: (line: string) => void;
}): Log {
  const { level: least, pretty, clock, sink } = options;
  const write = (level: Level, message: string, fields: LogFields = {}) => {
    if (LOG_LEVELS.indexOf(level) < LOG_LEVELS.indexOf(least)) return;
    const time = clock.now().toISOString();
    if (!pretty) return sink(onOneLine(JSON.stringify({ time, level, message, ...fields })));
    const facts = Object.entries(fields).map(
      ([name, value]) => ` ${name}=${typeof value === "string" ? value : JSON.stringify(value)}`,
    );
    sink(onOneLine(`${time.slice(11, 19)} ${level.padEnd(5)} ${message}${facts.join("")}`));
  };
  return {
    write,
    report: (error, fields) => write("error", summary(error), { ...fields, ...traceOf(error) }),
  };
}

/** Escapes line breaks and terminal control characters, so that text can't forge a line. */
const onOneLine = (text: string) =>
  text.replace(
    /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

const summary = (error: unknown) =>
  String(maskSecrets(error instanceof Error ? `${error.name}: ${safeMessage(error)}` : String(error)));

/** Drizzle includes a statement's parameters in its message, and they may be secret. */
const safeMessage = (error: Error) =>
  error.name === "DrizzleQueryError" ? "a statement failed" : error.message.slice(0, 2000);

function traceOf(error: unknown): LogFields {
  if (!(error instanceof Error)) return {};
  const frames = error.stack
    ?.split("\n")
    .filter((line) => line.trimStart().startsWith("at "))
    .slice(0, 12);
  return {
    stack: frames?.map((line) => line.trim()),
    ...(error.cause === undefined ? {} : { cause: summary(error.cause) }),
  };
}

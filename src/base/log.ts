import type { Clock } from "./clock.ts";
import { AppError } from "./errors.ts";
import { maskSecrets } from "./mask.ts";

export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
export type Level = (typeof LOG_LEVELS)[number];

/** Fields in addition to the message. Never credentials. */
type LogFields = Readonly<Record<string, unknown>>;

export interface Log {
  write(level: Level, message: string, fields?: LogFields): void;
  /**
   * Logs an error that isn't reported anywhere else, with its cause and stack. An outage is one line without a stack,
   * repeated at most once a minute.
   */
  report(error: unknown, fields?: LogFields): void;
}

/** Interval between lines about the same outage, which many loops notice several times a second. */
const OUTAGE_MS = 60_000;
const MAX_OUTAGES = 100;

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
  const outages = new Map<string, { atMs: number; further: number }>();
  const reportOutage = ({ message, cause }: AppError, fields: LogFields) => {
    const known = outages.get(message);
    const atMs = clock.monotonic();
    if (known !== undefined && atMs - known.atMs < OUTAGE_MS) {
      known.further++;
      return;
    }
    if (outages.size >= MAX_OUTAGES) outages.clear();
    outages.set(message, { atMs, further: 0 });
    write("error", String(maskSecrets(message)), {
      ...fields,
      ...causeOf(cause),
      ...(known?.further ? { furtherFailures: known.further } : {}),
    });
  };
  return {
    write,
    report(error, fields = {}) {
      if (isOutage(error)) reportOutage(error, fields);
      else write("error", summary(error), { ...fields, ...traceOf(error) });
    },
  };
}

/** True for what the operator has to repair elsewhere: where it was noticed doesn't matter. */
const isOutage = (error: unknown): error is AppError =>
  error instanceof AppError &&
  error.retryable &&
  (error.code === "unavailable" || error.code === "disk_full");

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
    ...causeOf(error.cause),
  };
}

const causeOf = (cause: unknown): LogFields => (cause === undefined ? {} : { cause: summary(cause) });

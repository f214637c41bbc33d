import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Parts } from "../app.ts";
import { systemClock } from "../base/clock.ts";
import { openLog } from "../base/log.ts";
import { ConfigError, readConfig } from "../config.ts";
import type { Host } from "./host.ts";

type Settings = Readonly<Record<string, string | undefined>>;

/** Reads settings from `flags`, then `env`, then `weir.toml` in the data directory. Logs to stderr. */
export function partsFrom(
  flags: Settings,
  env: Settings,
  process: Pick<Host, "isTerminal" | "self" | "err">,
): Parts {
  const folder = flags.data ?? env.WEIR_DATA ?? "./weir-data";
  const { config, secrets } = readConfig(flags, env, readToml(join(folder, "weir.toml")));
  const log = openLog({
    level: config.logLevel,
    pretty: process.isTerminal,
    clock: systemClock,
    sink: process.err,
  });
  return { config, secrets, log, self: process.self };
}

function readToml(path: string): Record<string, string> {
  if (!existsSync(path)) return {};
  const table = parse(path);
  return Object.fromEntries(Object.entries(table).map(([key, value]) => [key, asText(path, key, value)]));
}

function parse(path: string): object {
  try {
    return Bun.TOML.parse(readFileSync(path, "utf8"));
  } catch (error) {
    throw new ConfigError(`Couldn't read ${path}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function asText(path: string, key: string, value: unknown): string {
  if (Array.isArray(value)) return value.map(String).join(",");
  if (["string", "number", "boolean"].includes(typeof value)) return String(value);
  throw new ConfigError(`${path}: ${key} must be a string, a number or a list.`);
}

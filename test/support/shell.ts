import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../src/base/clock.ts";
import { openLog } from "../../src/base/log.ts";
import type { Host } from "../../src/cli/host.ts";
import { readConfig } from "../../src/config.ts";
import { PROGRAM } from "./program.ts";

type Command = (args: readonly string[], host: Host) => Promise<number>;

/** Exit code and output of a command. */
export interface Ran {
  code: number;
  out: string;
  err: string;
  /** The texts of the status line, in order. */
  told: string[];
  // biome-ignore lint/suspicious/noExplicitAny: tests read replies of any shape
  json: any;
}

/** A temporary folder that is deleted on disposal. */
export function folder() {
  const path = mkdtempSync(join(tmpdir(), "weir-upkeep-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

/** Runs commands of this machine in memory, with their own settings. */
export function shell(env: Readonly<Record<string, string | undefined>> = {}, stdin = "") {
  return async (command: Command, ...args: string[]): Promise<Ran> => {
    const out: string[] = [];
    const err: string[] = [];
    const told: string[] = [];
    const host: Host = {
      parts: async (flags) => ({
        ...readConfig(flags, env, {}),
        log: openLog({ level: "error", pretty: false, clock: systemClock, sink: () => undefined }),
        self: PROGRAM,
      }),
      isTerminal: false,
      width: null,
      ask: null,
      hasColor: false,
      self: [],
      person: {
        configFolder: join(env.XDG_CONFIG_HOME ?? tmpdir(), "weir"),
        server: env.WEIR_SERVER ?? null,
        terminal: null,
      },
      env,
      onStop: () => undefined,
      status: (text) => void (text === "" || told.push(text)),
      stdin: async () => stdin,
      input: () => new Blob([stdin]).stream(),
      out: (line) => out.push(line),
      write: () => undefined,
      isRead: () => true,
      err: (line) => err.push(line),
    };
    const code = await command(args, host);
    const text = out.join("\n");
    return {
      code,
      out: text,
      err: err.join("\n"),
      told,
      json: code !== 2 && text.startsWith("{") ? JSON.parse(text) : null,
    };
  };
}

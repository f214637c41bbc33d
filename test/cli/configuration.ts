import { join } from "node:path";
import { apply } from "../../src/cli/apply.ts";
import { openCredentials } from "../../src/cli/credentials.ts";
import { diff } from "../../src/cli/diff.ts";
import { exportConfig } from "../../src/cli/export.ts";
import type { Host } from "../../src/cli/host.ts";

/** A terminal in memory, signed in as an installation's owner. */
export function terminal(home: string, app: { origin: string; token: string }) {
  const person = {
    configFolder: join(home, `config-${new URL(app.origin).port}`),
    server: app.origin,
    terminal: null,
  };
  openCredentials(person).keep(app.origin, app.token);
  const env: Record<string, string | undefined> = {};
  const seat: { answer: string | null; hasColor: boolean; asked: string[] } = {
    answer: null,
    hasColor: false,
    asked: [],
  };
  const run = async (command: typeof diff, args: string[], stdin = "") => {
    const out: string[] = [];
    const err: string[] = [];
    const host: Host = {
      parts: async () => {
        throw new Error("A client needs no data directory.");
      },
      isTerminal: false,
      width: null,
      ask:
        seat.answer === null
          ? null
          : async (question) => {
              seat.asked.push(question);
              return seat.answer ?? "";
            },
      hasColor: seat.hasColor,
      self: [],
      person,
      env,
      onStop: () => undefined,
      status: () => undefined,
      stdin: async () => stdin,
      input: () => new Blob([stdin]).stream(),
      out: (line) => out.push(line),
      write: () => undefined,
      isRead: () => true,
      err: (line) => err.push(line),
    };
    const code = await command(args, host);
    const text = out.join("\n");
    return { code, out: text, err: err.join("\n"), json: text.startsWith("{") ? JSON.parse(text) : null };
  };
  return {
    env,
    /** Answers at the terminal, and the questions that were asked. */
    seat,
    diff: (...args: string[]) => run(diff, args),
    export: (...args: string[]) => run(exportConfig, args),
    apply: (...args: string[]) => run(apply, args),
    /** Applies this text. */
    give: (text: string, ...args: string[]) => run(apply, ["-f", "-", "--yes", ...args], text),
  };
}

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { actions } from "../../src/cli/actions.ts";
import { api } from "../../src/cli/api.ts";
import { approvals } from "../../src/cli/approvals.ts";
import { automations } from "../../src/cli/automations.ts";
import { bundles } from "../../src/cli/bundles.ts";
import { completion } from "../../src/cli/completion.ts";
import { connections } from "../../src/cli/connections.ts";
import { openCredentials } from "../../src/cli/credentials.ts";
import { datasets } from "../../src/cli/datasets.ts";
import { events } from "../../src/cli/events.ts";
import type { Host } from "../../src/cli/host.ts";
import { openapi } from "../../src/cli/openapi.ts";
import { organization } from "../../src/cli/organization.ts";
import { query } from "../../src/cli/query.ts";
import { runs } from "../../src/cli/runs.ts";
import { schema } from "../../src/cli/schema.ts";
import { status } from "../../src/cli/status.ts";
import { webhooks } from "../../src/cli/webhooks.ts";

const commands = {
  status,
  actions,
  runs,
  automations,
  approvals,
  connections,
  datasets,
  bundles,
  query,
  events,
  webhooks,
  organization,
  openapi,
  schema,
  api,
  completion,
};

export type Name = keyof typeof commands;

/** Output and exit code of a command. */
export interface Ended {
  code: number;
  /** Everything on standard output. */
  out: string;
  err: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read replies of any shape
  json: any;
}

interface Sitting {
  stdin?: string;
  /** Columns. A terminal only if given. */
  width?: number;
  /** Answer to each question. */
  answer?: string;
  env?: Record<string, string>;
  /** The reader of the output stops after this many lines. */
  readLines?: number;
}

/** A terminal in memory with its own config directory, which is deleted on disposal. */
export function openTerminal(server: string, token?: string) {
  const home = mkdtempSync(join(tmpdir(), "weir-client-"));
  const person = { configFolder: join(home, "weir"), server, terminal: null };
  if (token !== undefined) openCredentials(person).keep(server, token);

  /** Starts a command that keeps running: with its output so far, its questions, and Ctrl-C. */
  function start(name: Name, args: readonly string[], sitting: Sitting = {}) {
    const { stdin = "", width, answer, env = {}, readLines = Number.POSITIVE_INFINITY } = sitting;
    const decoder = new TextDecoder();
    const stops: (() => void)[] = [];
    const lines: string[] = [];
    const state = { out: "", err: "", asked: [] as string[], told: [] as string[], cleared: 0 };
    const host: Host = {
      parts: async () => {
        throw new Error("A client needs no data directory.");
      },
      isTerminal: width !== undefined,
      width: width ?? null,
      ask:
        answer === undefined
          ? null
          : async (question, isHidden) => {
              state.asked.push(`${question}${isHidden ? "(hidden)" : ""}`);
              return answer;
            },
      hasColor: false,
      self: [],
      person,
      env,
      onStop: (stop) => void stops.push(stop),
      stdin: async () => stdin,
      input: () => new Blob([stdin]).stream(),
      out: (line) => {
        lines.push(line);
        state.out += `${line}\n`;
      },
      err: (line) => {
        state.err += `${line}\n`;
      },
      write: (bytes) => {
        state.out += decoder.decode(bytes, { stream: true });
      },
      isRead: () => lines.length < readLines,
      status: (text) => {
        if (text === "") state.cleared++;
        else state.told.push(text);
      },
    };
    const ended = commands[name](args, host).then((code): Ended => {
      const { out, err } = state;
      return {
        code,
        out,
        err,
        get json() {
          return JSON.parse(out);
        },
      };
    });
    return {
      state,
      lines,
      ended,
      stop: () => {
        for (const stop of stops) stop();
      },
      /** Waits until `done` accepts its output. Fails after a minute. */
      async until(done: () => boolean) {
        for (const since = performance.now(); !done(); await Bun.sleep(5)) {
          if (performance.now() - since > 60_000)
            throw new Error(`It did not come: ${JSON.stringify(state)}`);
        }
      },
    };
  }

  return {
    start,
    run: (name: Name, ...args: string[]) => start(name, args).ended,
    /** Runs it with standard input, or at a terminal. */
    sit: (sitting: Sitting, name: Name, ...args: string[]) => start(name, args, sitting).ended,
    [Symbol.dispose]: () => rmSync(home, { recursive: true, force: true }),
  };
}

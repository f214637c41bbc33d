import { AppError } from "../base/errors.ts";
import type { Json } from "../base/json.ts";
import { lowerPriority, PRIORITIES } from "../base/priority.ts";
import { residentBytes } from "../base/resident.ts";
import { envFor } from "../base/walls.ts";
import type {
  JsonBytes,
  ScriptHost,
  ScriptLine,
  ScriptOutput,
  ScriptWork,
  WeirFunction,
} from "./contract.ts";
import { type Frame, frameHead, framesOf } from "./frames.ts";
import type { FromScript, ScriptFault, ToScript } from "./protocol.ts";

const MIB = 1024 * 1024;
const WATCH_MS = 10;
/** Memory of a process in addition to its script's: with the default of 64 MiB less than 150 MB in total. */
const BASE_BYTES = 72 * MIB;
/** A process that has grown by more than this is replaced. */
const WORN_BYTES = 30 * MIB;
/** Time after its deadline for a script in a long built-in function to notice the interrupt. */
const GRACE_MS = 500;
const START_MS = 30_000;
/** Maximum size of an output's JSON as UTF-8, which may have three bytes per character. */
const MAX_OUTPUT_BYTES = 64 * MIB;

/** One process that runs scripts, one at a time. */
export interface ScriptChild {
  /** The organization whose scripts it has run; null before the first. */
  readonly organizationId: string | null;
  readonly isAlive: boolean;
  /** False if its scripts have left too much memory in use. */
  isFit(): boolean;
  run(work: ScriptWork, host: ScriptHost): Promise<ScriptOutput>;
  kill(): void;
  readonly gone: Promise<void>;
}

interface UnderWay {
  job: number;
  host: ScriptHost;
  parts: Buffer[];
  bytes: number;
  /** Aborts calls whose result is no longer needed. */
  over: AbortController;
  calls: Set<Promise<void>>;
  end(outcome: { items: number } | { error: unknown }): void;
}

/** Starts a process with the command `self`. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: its parts share the process and the script that it runs
export function startScriptChild(self: readonly string[]): ScriptChild {
  let organizationId: string | null = null;
  let isAlive = true;
  let restBytes = 0;
  let jobs = 0;
  let current: UnderWay | null = null;
  const ready = Promise.withResolvers<boolean>();
  const spawned = Bun.spawn([...self, "__script"], {
    // Nothing from Weir's environment: no keys, no tokens, no proxies.
    env: { PATH: "/usr/local/bin:/usr/bin:/bin", TZ: "UTC", ...envFor({ read: [], write: [] }) },
    stdio: ["pipe", "pipe", "ignore"],
  });
  lowerPriority(spawned.pid, PRIORITIES.chore);
  spawned.unref();
  const kill = () => {
    isAlive = false;
    spawned.kill("SIGKILL");
  };
  let sending: Promise<unknown> = Promise.resolve();
  const write = async (head: ToScript, bytes: JsonBytes) => {
    for (const piece of [frameHead(head, sizeOf(bytes)), ...bytes]) {
      spawned.stdin.write(piece);
      await spawned.stdin.flush();
    }
  };
  const send = (head: ToScript, bytes: JsonBytes) => {
    sending = sending.then(() => write(head, bytes)).catch(() => undefined); // the process has ended, which is handled below
  };

  const take = ({ head, bytes }: Frame) => {
    const message = head as unknown as FromScript;
    if (message.kind === "ready") {
      restBytes = residentBytes(spawned.pid);
      return ready.resolve(true);
    }
    if (current === null || message.job !== current.job) return;
    if (message.kind === "end") {
      if (message.isBroken) kill();
      return current.end(message.fault ? { error: errorOf(message.fault) } : { items: message.items });
    }
    if (message.kind === "part") return takePart(current, Buffer.from(bytes));
    if (message.kind === "log") return current.host.log(lineOf(message.level, message.message));
    const call = answer(current, message, bytes, send);
    current.calls.add(call);
  };
  const listen = async () => {
    for await (const frame of framesOf(spawned.stdout)) take(frame);
  };
  const gone = listen()
    .catch((error: unknown) => {
      kill();
      current?.end({
        error: new AppError("internal", "The process of the script ended unexpectedly.", { cause: error }),
      });
    })
    .then(async () => {
      await spawned.exited;
      isAlive = false;
      ready.resolve(false);
      current?.end({ error: errorOf(BROKEN) });
    });

  return {
    get organizationId() {
      return organizationId;
    },
    get isAlive() {
      return isAlive;
    },
    // a process that isn't ready yet hasn't run anything
    isFit: () => restBytes === 0 || residentBytes(spawned.pid) <= restBytes + WORN_BYTES,
    async run(work, host) {
      if (!(await soon(ready.promise))) {
        kill();
        throw new AppError("internal", "The process that runs scripts didn't start.");
      }
      organizationId = host.organizationId;
      const { promise, resolve } = Promise.withResolvers<{ items: number } | { error: unknown }>();
      const way: UnderWay = {
        job: ++jobs,
        host,
        parts: [],
        bytes: 0,
        over: new AbortController(),
        calls: new Set(),
        end: resolve,
      };
      current = way;
      const { input, ...rest } = work;
      const guard = guardOf(spawned.pid, work, (error) => {
        resolve({ error });
        kill();
      });
      const stop = () => {
        resolve({ error: host.signal.reason });
        kill();
      };
      host.signal.addEventListener("abort", stop, { once: true });
      if (host.signal.aborted) stop();
      else send({ job: way.job, organizationId, ...rest }, input);
      const outcome = await promise;
      current = null;
      guard.end();
      host.signal.removeEventListener("abort", stop);
      way.over.abort(new AppError("cancelled", "The script has ended."));
      await Promise.allSettled(way.calls);
      if ("error" in outcome) {
        if (!(outcome.error instanceof AppError) || outcome.error.code !== "script_error") kill();
        throw outcome.error;
      }
      return { json: Buffer.concat(way.parts), items: outcome.items < 0 ? null : outcome.items };
    },
    kill,
    gone,
  };
}

/** Whether the promise resolves within the time that a process needs to start. */
async function soon(isReady: Promise<boolean>): Promise<boolean> {
  let timer: Timer | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), START_MS);
  });
  return Promise.race([isReady, late]).finally(() => clearTimeout(timer));
}

const sizeOf = (bytes: JsonBytes): number => bytes.reduce((sum, { length }) => sum + length, 0);

/** Kills the process of a script that exceeds its limits and doesn't end. */
function guardOf(pid: number, { memoryMb, timeoutMs, input }: ScriptWork, fail: (error: AppError) => void) {
  // the input exists as bytes and as text before the script receives it
  const most = BASE_BYTES + memoryMb * MIB + 2 * sizeOf(input);
  const watch = setInterval(() => {
    if (residentBytes(pid) > most) fail(errorOf(FULL));
  }, WATCH_MS);
  const late = setTimeout(() => fail(errorOf(LATE)), timeoutMs + GRACE_MS);
  return {
    end() {
      clearInterval(watch);
      clearTimeout(late);
    },
  };
}

function takePart(way: UnderWay, part: Buffer): void {
  way.bytes += part.length;
  if (way.bytes > MAX_OUTPUT_BYTES) return way.end({ error: errorOf(TOO_LARGE) });
  way.parts.push(part);
}

/** Runs one call and sends the reply. */
async function answer(
  { job, host, over, end }: UnderWay,
  { id, name }: { id: number; name: string },
  args: Buffer,
  send: (head: ToScript, bytes: JsonBytes) => void,
): Promise<void> {
  try {
    const json = await host.call(name as WeirFunction, JSON.parse(args.toString()) as Json[], over.signal);
    if (!over.signal.aborted) send({ job, reply: id, isFault: false }, json);
  } catch (error) {
    if (over.signal.aborted) return;
    if (!(error instanceof AppError)) return end({ error });
    const { code, message } = error;
    send({ job, reply: id, isFault: true }, [Buffer.from(JSON.stringify({ code, message }))]);
  }
}

const LEVELS: readonly string[] = ["debug", "info", "warn", "error"];

const lineOf = (level: string, message: string): ScriptLine => ({
  level: LEVELS.includes(level) ? (level as ScriptLine["level"]) : "info",
  message,
});

const FULL: ScriptFault = {
  code: "script_memory",
  message: "The script needs more memory than memoryMb allows.",
  line: null,
};
const LATE: ScriptFault = {
  code: "script_timeout",
  message: "The script didn't end within timeoutSeconds.",
  line: null,
};
const TOO_LARGE: ScriptFault = {
  code: "result_too_large",
  message: "The output is longer than 64 MiB of JSON. Return less.",
  line: null,
};
const BROKEN: ScriptFault = { code: "script_error", message: "The script crashed its process.", line: null };

const errorOf = ({ code, message, line }: ScriptFault): AppError =>
  new AppError(code, line === null ? message : `Line ${line}: ${message}`, { details: { line } });

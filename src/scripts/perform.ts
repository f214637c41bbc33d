import type { QuickJSContext, QuickJSDeferredPromise, QuickJSHandle } from "quickjs-emscripten-core";
import { MAX_DEPTH } from "../base/json.ts";
import type { Instance } from "./engine.ts";
import { PRELUDE } from "./prelude.ts";
import type { ScriptFault } from "./protocol.ts";

const FILE = "script.ts";
const MAX_CALLS_AT_ONCE = 64;
const MAX_CALLS = 10_000;
const MAX_ARGUMENTS_CHARACTERS = 1024 * 1024;
const MAX_LINES = 1_000;
const MAX_LOG_CHARACTERS = 256 * 1024;
const MAX_OUTPUT_CHARACTERS = 64 * 1024 * 1024;
const PART_CHARACTERS = 1024 * 1024;

/** Sends the script's messages and receives the replies to its calls. */
export interface Talk {
  ask(id: number, name: string, args: string): void;
  /** Blocks until the next reply; JSON. */
  next(): { id: number; isFault: boolean; json: string };
  log(level: string, message: string): void;
  part(json: string): void;
}

export interface Job {
  /** JavaScript. */
  code: string;
  input: string;
  timeoutMs: number;
  now: number;
  seed: number;
}

export interface Performed {
  items: number;
  fault: ScriptFault | null;
  isBroken: boolean;
}

/** A value thrown by the script itself. */
class Thrown {
  constructor(readonly handle: QuickJSHandle) {}
}

/** The line of a syntax error in a source, according to QuickJS; null if there is none, as for errors in types. */
export function lineOfFault(instance: Instance, source: string): number | null {
  const runtime = instance.newRuntime();
  const vm = runtime.newContext();
  const read = vm.evalCode(source, FILE, { type: "module", compileOnly: true });
  const stack = read.error && vm.getProp(read.error, "stack").consume((text) => vm.getString(text));
  read.dispose();
  vm.dispose();
  runtime.dispose();
  return lineIn(stack);
}

function lineIn(stack = ""): number | null {
  const line = /script\.ts:(\d+)/.exec(stack)?.[1];
  return line === undefined ? null : Number(line);
}

/** Runs a script to its end in a new context; sends the output to `talk` in parts. */
export function perform(instance: Instance, job: Job, talk: Talk): Performed {
  const deadline = performance.now() + job.timeoutMs;
  let isLate = false;
  const late = () => {
    isLate ||= performance.now() > deadline;
    return isLate;
  };
  try {
    const runtime = instance.newRuntime();
    runtime.setInterruptHandler(late);
    const vm = runtime.newContext();
    const script = openScript(vm, job, talk);
    let fault: ScriptFault | null = null;
    let items = -1;
    try {
      items = script.run(late);
    } catch (error) {
      if (!(error instanceof Thrown || error instanceof Refused)) throw error;
      fault = error instanceof Refused ? error.fault : script.faultOf(error, instance);
    }
    if (isLate) fault = LATE;
    script.dispose();
    vm.dispose();
    runtime.dispose();
    return { items, fault, isBroken: isLate };
  } catch (error) {
    return { items: -1, fault: brokenBy(error, isLate), isBroken: true };
  }
}

/** The error for a failure of the engine itself, whose memory can no longer be used. */
function brokenBy(error: unknown, isLate: boolean): ScriptFault {
  if (isLate) return LATE;
  const isNested = error instanceof RangeError && /call stack/i.test(error.message);
  return isNested ? { code: "script_error", message: "The script is nested too deeply.", line: null } : FULL;
}

const LATE: ScriptFault = {
  code: "script_timeout",
  message: "The script didn't end within timeoutSeconds.",
  line: null,
};
const FULL: ScriptFault = {
  code: "script_memory",
  message: "The script needs more memory than memoryMb allows.",
  line: null,
};

/** An error whose message is reported unchanged. */
class Refused extends Error {
  constructor(readonly fault: ScriptFault) {
    super(fault.message);
  }
}

const refused = (message: string, code: ScriptFault["code"] = "script_error") =>
  new Refused({ code, message, line: null });

function openScript(vm: QuickJSContext, job: Job, talk: Talk) {
  const kept: QuickJSHandle[] = [];
  const keep = (handle: QuickJSHandle) => {
    kept.push(handle);
    return handle;
  };
  const waiting = new Map<number, QuickJSDeferredPromise>();
  const take = (result: { error: QuickJSHandle } | { value: QuickJSHandle; error?: undefined }) => {
    if (result.error) throw new Thrown(keep(result.error));
    return keep(result.value);
  };
  const call = (fn: QuickJSHandle, ...args: QuickJSHandle[]) =>
    take(vm.callFunction(fn, vm.undefined, ...args));
  const lengthOf = (text: QuickJSHandle) =>
    vm.getProp(text, "length").consume((length) => vm.getNumber(length));

  give(vm, "__now", vm.newNumber(job.now));
  give(vm, "__seed", vm.newNumber(job.seed));
  give(vm, "__say", vm.newFunction("say", sayer(vm, talk)));
  give(vm, "__ask", vm.newFunction("ask", asker(vm, talk, waiting, lengthOf)));
  const prelude = take(vm.evalCode(PRELUDE, "weir.js"));
  const [run, part, describe] = ["run", "part", "describe"].map((name) => keep(vm.getProp(prelude, name)));

  const settled = (promise: QuickJSHandle, isLate: () => boolean): QuickJSHandle => {
    for (;;) {
      const jobs = vm.runtime.executePendingJobs(-1);
      if (jobs.error) throw new Thrown(keep(jobs.error));
      const state = vm.getPromiseState(promise);
      if (state.type === "fulfilled") return state.notAPromise ? promise : keep(state.value);
      if (state.type === "rejected") throw new Thrown(keep(state.error));
      if (isLate()) throw new Refused(LATE);
      if (waiting.size === 0) throw refused("The script awaits a promise that never settles.");
      answer(vm, waiting, talk.next());
    }
  };

  return {
    /** Runs the script. Returns the number of items if the output is a list, else -1. */
    run(isLate: () => boolean): number {
      if (!run || !part) throw refused("The engine didn't start.");
      const loaded = take(vm.evalCode(job.code, FILE, { type: "module" }));
      const main = keep(vm.getProp(settled(loaded, isLate), "default"));
      if (vm.typeof(main) !== "function")
        throw refused("The default export isn't a function. Start with export default (input, weir) =>");
      const output = settled(call(run, main, keep(vm.newString(job.input))), isLate);
      const json = keep(vm.getProp(output, "json"));
      if (vm.typeof(json) !== "string") throw new Refused(FULL); // out of memory even for this
      const length = lengthOf(json);
      if (length > MAX_OUTPUT_CHARACTERS)
        throw refused("The output is longer than 64 MiB of JSON. Return less.", "result_too_large");
      const isDeep = depthMeter();
      for (let from = 0; from < length; ) {
        const range = [vm.newNumber(from), vm.newNumber(PART_CHARACTERS)];
        const text = vm
          .unwrapResult(vm.callFunction(part, vm.undefined, json, ...range))
          .consume((piece) => vm.getString(piece));
        if (text === "") throw new Refused(FULL);
        if (isDeep(text)) throw refused(`The output is nested more than ${MAX_DEPTH} levels deep.`);
        talk.part(text);
        from += text.length;
      }
      return vm.getProp(output, "items").consume((items) => vm.getNumber(items));
    },

    faultOf({ handle }: Thrown, instance: Instance): ScriptFault {
      const description = describe && vm.callFunction(describe, vm.undefined, handle);
      if (!description || description.error) {
        description?.error?.dispose();
        return instance.isFull() ? FULL : { code: "script_error", message: "The script failed.", line: null };
      }
      const {
        name,
        message,
        stack = "",
      } = JSON.parse(description.value.consume((text) => vm.getString(text)));
      // If there is no memory for the error itself, the engine throws null.
      if (/^out of memory$/.test(message) || (name === undefined && message === "" && instance.isFull()))
        return FULL;
      return {
        code: "script_error",
        message: name ? `${name}: ${message}` : message || "The script threw an error without a message.",
        line: lineIn(stack),
      };
    },

    dispose() {
      for (const deferred of waiting.values()) deferred.dispose();
      for (const handle of kept) if (handle.alive) handle.dispose();
    },
  };
}

/** Reads JSON in parts; returns true once it is nested too deeply. */
function depthMeter(): (part: string) => boolean {
  let depth = 0;
  let isText = false;
  let isEscaped = false;
  return (part) => {
    for (let at = 0; at < part.length; at++) {
      const c = part.charCodeAt(at);
      if (isEscaped) isEscaped = false;
      else if (isText && c === 0x5c) isEscaped = true;
      else if (c === 0x22) isText = !isText;
      else if (isText) continue;
      else if (c === 0x5b || c === 0x7b) depth++;
      else if (c === 0x5d || c === 0x7d) depth--;
      if (depth > MAX_DEPTH) return true;
    }
    return false;
  };
}

function give(vm: QuickJSContext, name: string, value: QuickJSHandle): void {
  value.consume((handle) => vm.setProp(vm.global, name, handle));
}

/** Sends a log line; returns false once the limit is reached. */
function sayer(vm: QuickJSContext, talk: Talk) {
  let lines = 0;
  let left = MAX_LOG_CHARACTERS;
  return (level: QuickJSHandle, text: QuickJSHandle): QuickJSHandle => {
    const message = vm.getString(text);
    left -= message.length;
    lines++;
    const isHeard = lines <= MAX_LINES && left >= 0;
    if (isHeard) talk.log(vm.getString(level), message);
    else talk.log("warn", `Log truncated: a script can log ${MAX_LINES} lines of 256 KiB in all.`);
    return isHeard ? vm.true : vm.false;
  };
}

function asker(
  vm: QuickJSContext,
  talk: Talk,
  waiting: Map<number, QuickJSDeferredPromise>,
  lengthOf: (text: QuickJSHandle) => number,
) {
  let calls = 0;
  const faultOf = (args: QuickJSHandle): string | null => {
    if (++calls > MAX_CALLS) return `A script can make up to ${MAX_CALLS} calls.`;
    if (waiting.size >= MAX_CALLS_AT_ONCE) return `At most ${MAX_CALLS_AT_ONCE} calls can run at once.`;
    if (vm.typeof(args) !== "string") return "The arguments aren't valid JSON.";
    return lengthOf(args) > MAX_ARGUMENTS_CHARACTERS ? "The arguments are longer than 1 MiB of JSON." : null;
  };
  return (name: QuickJSHandle, args: QuickJSHandle): QuickJSHandle => {
    const deferred = vm.newPromise();
    const fault = faultOf(args);
    if (fault === null) {
      waiting.set(calls, deferred);
      talk.ask(calls, vm.getString(name), vm.getString(args));
    } else {
      const errorText = JSON.stringify({ code: "limit_exceeded", message: fault });
      vm.newString(errorText).consume((text) => deferred.reject(text));
    }
    return deferred.handle;
  };
}

function answer(
  vm: QuickJSContext,
  waiting: Map<number, QuickJSDeferredPromise>,
  { id, isFault, json }: ReturnType<Talk["next"]>,
): void {
  const deferred = waiting.get(id);
  waiting.delete(id);
  if (!deferred) return;
  vm.newString(json).consume((text) => (isFault ? deferred.reject(text) : deferred.resolve(text)));
}

import { dieWithParent } from "../base/walls.ts";
import { type Instance, openEngine } from "./engine.ts";
import { type Frame, pipe } from "./frames.ts";
import { lineOfFault, type Performed, perform, type Talk } from "./perform.ts";
import type { FromScript, ScriptFault, ToScript } from "./protocol.ts";
import { openSources } from "./source.ts";

/** The usual memory limit of scripts: an instance with it is created in advance. */
const USUAL_MIB = 64;
/** Longer inputs and outputs leave copies that are better collected immediately. */
const LONG_CHARACTERS = 512 * 1024;

/** The child process: runs scripts one at a time until the parent closes the pipe. Returns the exit code. */
export async function scriptChild(): Promise<number> {
  dieWithParent();
  const read = openSources();
  const instanceFor = openInstances(openEngine());
  await instanceFor("", USUAL_MIB);
  tell({ kind: "ready" });
  for (;;) {
    const frame = pipe.receive();
    if (frame === null) return 0;
    const message = frame.head as unknown as ToScript;
    if ("reply" in message) continue; // reply for a job that has ended
    const { job, organizationId, memoryMb, source } = message;
    const instance = await instanceFor(organizationId, memoryMb);
    const input = frame.bytes.toString();
    let characters = input.length;
    const talk = talkOf(job, (length) => {
      characters += length;
    });
    const script = read(source);
    const done: Performed =
      "fault" in script
        ? unread(instance, source, script.fault)
        : perform(instance, { ...message, code: script.code, input }, talk);
    tell({ kind: "end", job, ...done });
    if (characters > LONG_CHARACTERS) Bun.gc(true);
  }
}

/**
 * Keeps one instance at a time, because another organization must not see what scripts left in memory. The first one is
 * given to the first caller.
 */
function openInstances(open: (memoryMb: number) => Promise<Instance>) {
  let kept: { organizationId: string; memoryMb: number; instance: Instance } | undefined;
  return async (organizationId: string, memoryMb: number): Promise<Instance> => {
    const isUsable = kept?.organizationId === organizationId || kept?.organizationId === "";
    if (!kept || !isUsable || kept.memoryMb !== memoryMb) {
      kept = undefined;
      kept = { organizationId, memoryMb, instance: await open(memoryMb) };
    }
    kept.organizationId = organizationId;
    return kept.instance;
  };
}

/** Removing types can shift an error to an earlier line, so the line is taken from the original source. */
function unread(instance: Instance, source: string, fault: ScriptFault): Performed {
  try {
    const line = Math.max(fault.line ?? 0, lineOfFault(instance, source) ?? 0) || null;
    return { items: -1, fault: { ...fault, line }, isBroken: false };
  } catch {
    return { items: -1, fault, isBroken: true }; // nested too deeply for both, which corrupts the engine
  }
}

const tell = (message: FromScript, bytes?: Uint8Array) => pipe.send(message, bytes);

function talkOf(job: number, count: (characters: number) => void): Talk {
  return {
    ask: (id, name, args) => tell({ kind: "call", job, id, name }, Buffer.from(args)),
    next() {
      for (;;) {
        const { head, bytes } = pipe.receive() ?? gone();
        const reply = head as unknown as ToScript;
        if ("reply" in reply && reply.job === job)
          return { id: reply.reply, isFault: reply.isFault, json: bytes.toString() };
      }
    },
    log: (level, message) => tell({ kind: "log", job, level, message }),
    part(json) {
      count(json.length);
      tell({ kind: "part", job }, Buffer.from(json));
    },
  };
}

/** The parent has stopped waiting for a reply. */
function gone(): Frame {
  process.exit(0);
}

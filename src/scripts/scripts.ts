import { availableParallelism } from "node:os";
import { openSemaphore } from "../base/semaphore.ts";
import type { Scripts } from "./contract.ts";
import { type ScriptChild, startScriptChild } from "./process.ts";

/** Number of concurrent scripts, many of which wait for their calls; half of them for one organization. */
const CHILDREN = Math.max(4, availableParallelism());
/** How long an idle process is kept for the next script. */
const WARM_MS = 120_000;

/** Runs scripts in child processes started by `self`. Starts no process before the first script. */
export function openScripts(self: readonly string[]): Scripts {
  const semaphore = openSemaphore(CHILDREN, { mostOfOne: CHILDREN / 2 });
  const children = new Set<ScriptChild>();
  let idle: ScriptChild[] = [];
  let timer: Timer | undefined;
  let isClosed = false;

  const start = () => {
    const child = startScriptChild(self);
    children.add(child);
    void child.gone.then(() => {
      children.delete(child);
      idle = idle.filter((each) => each !== child);
    });
    return child;
  };

  /** The organization's own process, or a new one, or another organization's, which then discards its memory. */
  const take = (organizationId: string): ScriptChild => {
    for (const child of idle) if (!child.isFit()) child.kill();
    idle = idle.filter((child) => child.isAlive);
    const own = idle.find((child) => child.organizationId === organizationId);
    const child = own ?? idle.find((child) => child.organizationId === null) ?? idle[0] ?? start();
    idle = idle.filter((each) => each !== child);
    return child;
  };

  const putBack = (child: ScriptChild) => {
    if (isClosed) return child.kill();
    if (child.isAlive) idle.push(child);
    if (!idle.some(({ organizationId }) => organizationId === null) && idle.length < CHILDREN)
      idle.push(start());
    clearTimeout(timer);
    timer = setTimeout(() => {
      for (const each of idle) each.kill();
      idle = [];
    }, WARM_MS);
    timer.unref();
  };

  return {
    async run(work, host) {
      const { signal, organizationId } = host;
      const leave = await semaphore.enter(signal, { organizationId });
      const child = take(organizationId);
      try {
        return await child.run(work, host);
      } finally {
        putBack(child);
        leave();
      }
    },
    async close() {
      isClosed = true;
      clearTimeout(timer);
      for (const child of children) child.kill();
      await Promise.all([...children].map((child) => child.gone));
    },
  };
}

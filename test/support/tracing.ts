import type { BrowserContext, Page } from "playwright-core";

interface TraceEvent {
  name: string;
  tid: number;
  pid: number;
  /** Microseconds of the thread's own time, so that other load on the CPU doesn't count. */
  tdur?: number;
  args?: { name?: string };
}

/** Milliseconds of each task of the page's main thread during `work`. */
export async function tasksOf(
  { context, page }: { context: BrowserContext; page: Page },
  work: () => Promise<void>,
): Promise<number[]> {
  const session = await context.newCDPSession(page);
  const events: TraceEvent[] = [];
  session.on("Tracing.dataCollected", ({ value }) => void events.push(...(value as unknown as TraceEvent[])));
  const isOver = new Promise<void>((resolve) => session.once("Tracing.tracingComplete", () => resolve()));
  await session.send("Tracing.start", {
    categories: "toplevel,disabled-by-default-devtools.timeline",
    transferMode: "ReportEvents",
  });
  await work();
  await session.send("Tracing.end");
  await isOver;
  const mains = events.filter(({ name, args }) => name === "thread_name" && args?.name === "CrRendererMain");
  return events
    .filter(
      ({ name, pid, tid }) =>
        name === "RunTask" && mains.some((main) => main.pid === pid && main.tid === tid),
    )
    .map(({ tdur = 0 }) => tdur / 1000);
}

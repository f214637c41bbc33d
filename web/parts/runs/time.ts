const ENDED: ReadonlySet<string> = new Set(["completed", "failed", "cancelled", "skipped"]);

/** Whether a run or a step has come to its end. */
export const isOver = (status: string): boolean => ENDED.has(status);

/** How long a run took; null of one that has not started or not ended. */
export const secondsOf = (run: { startedAt: string | null; completedAt: string | null }): number | null =>
  run.startedAt && run.completedAt ? (Date.parse(run.completedAt) - Date.parse(run.startedAt)) / 1000 : null;

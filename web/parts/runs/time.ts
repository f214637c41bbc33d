const ENDED: ReadonlySet<string> = new Set(["completed", "failed", "cancelled", "skipped"]);

/** Returns whether a run or a step has finished. */
export const isOver = (status: string): boolean => ENDED.has(status);

/** Duration of a run. Null if it hasn't started or finished. */
export const secondsOf = (run: { startedAt: string | null; completedAt: string | null }): number | null =>
  run.startedAt && run.completedAt ? (Date.parse(run.completedAt) - Date.parse(run.startedAt)) / 1000 : null;

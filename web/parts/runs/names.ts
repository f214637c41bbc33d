import type { Run } from "../../calls.ts";

/** Name of a run: that of its step or action, else the title of its kind. */
export const runName = ({ stepName, actionName, stepKey }: Run, title: string): string =>
  stepName ?? actionName ?? stepKey ?? title;

import type { AutomationRun } from "../../calls.ts";
import { t } from "../../texts/text.ts";
import { counted } from "../base/time.tsx";
import type { StepValue } from "./steps-config.ts";

type StepRun = AutomationRun["steps"][number];

/** State of a step in a run. */
export interface StepState {
  readonly status: StepRun["status"];
  readonly startedAt: string | null;
  readonly completedAt: string | null;
  /** `38 of 120` for a step with `forEach`. */
  readonly items: string | null;
  /** 0 to 1, for items. */
  readonly share: number | null;
  /** Number of rows or items that it returned. */
  readonly count: number | null;
  /** The branch taken. */
  readonly branch: string | null;
  readonly error: string | null;
  readonly actionRunId: string | null;
}

/** Number of rows or items in a result. */
function countOf(result: unknown): number | null {
  if (Array.isArray(result)) return result.length;
  if (typeof result !== "object" || result === null) return null;
  for (const name of ["rows", "rowCount", "items", "results", "hits"]) {
    const value = (result as Record<string, unknown>)[name];
    if (typeof value === "number") return value;
    if (Array.isArray(value)) return value.length;
  }
  return null;
}

function stateOf(
  { status, startedAt, completedAt, items, error, actionRunId }: StepRun,
  result: unknown,
): StepState {
  const ended = items ? items.completed + items.failed : 0;
  const { branch } = (result ?? {}) as { branch?: unknown };
  return {
    status,
    startedAt,
    completedAt,
    items: items ? t("{count} of {total}", { count: counted(ended), total: counted(items.total) }) : null,
    share: items && items.total > 0 && status === "running" ? ended / items.total : null,
    count: countOf(result),
    branch: typeof branch === "string" ? branch : null,
    error: (error as { message?: string } | null)?.message ?? null,
    actionRunId,
  };
}

const isAlike = (one: StepState, other: StepState) =>
  (Object.keys(one) as (keyof StepState)[]).every((name) => one[name] === other[name]);

/** States of a run's steps. For unchanged steps, the same object as in `before`. */
export function statesOf(
  run: Pick<AutomationRun, "steps" | "result">,
  before: ReadonlyMap<string, StepState>,
): ReadonlyMap<string, StepState> {
  const results = (run.result ?? {}) as Record<string, unknown>;
  return new Map(
    run.steps.map((step) => {
      const state = stateOf(step, results[step.key]);
      const old = before.get(step.key);
      return [step.key, old && isAlike(old, state) ? old : state];
    }),
  );
}

export type StepChange = "added" | "removed" | "changed";

/** State of a step as text. */
export const changeName = (change: StepChange): string =>
  change === "added" ? t("added") : change === "removed" ? t("removed") : t("changed");

/** Chips on a step's edge, from its `forEach`, `when`, `delay` and `onError`. */
export function chipsOf(step: StepValue): { name: string; about: string; isPin?: true }[] {
  const { delay, pinned } = step as { delay?: { seconds?: unknown; until?: unknown }; pinned?: unknown };
  return [
    ...(step.when === undefined
      ? []
      : [{ name: t("when|condition"), about: t("Runs only when {when}", { when: step.when }) }]),
    ...(step.forEach === undefined
      ? []
      : [
          {
            name: t("each"),
            about:
              typeof step.forEach === "string"
                ? t("Runs for each item of {forEach}", { forEach: step.forEach })
                : t("Runs for each row of {table}", { table: step.forEach.table }),
          },
        ]),
    ...(delay
      ? [
          {
            name: t("delay"),
            about: delay.seconds
              ? t("Waits {seconds} s", { seconds: String(delay.seconds) })
              : t("Waits until {until}", { until: String(delay.until) }),
          },
        ]
      : []),
    ...(step.onError === "continue"
      ? [{ name: t("continues"), about: t("The run continues if this step fails") }]
      : []),
    ...(pinned === undefined
      ? []
      : [{ name: t("pinned"), about: t("Test runs use the pinned result"), isPin: true as const }]),
  ];
}

import type { AutomationRun } from "../../calls.ts";
import type { StepValue } from "./steps-config.ts";

type StepRun = AutomationRun["steps"][number];

/** How a run has got on with one step. */
export interface StepState {
  readonly status: StepRun["status"];
  readonly startedAt: string | null;
  readonly completedAt: string | null;
  /** `38 of 120` of a step over a list. */
  readonly items: string | null;
  /** 0 to 1, of items. */
  readonly share: number | null;
  /** How many rows or items it gave. */
  readonly count: number | null;
  /** The branch that it took. */
  readonly branch: string | null;
  readonly error: string | null;
  readonly actionRunId: string | null;
}

/** How many rows or items a result tells of. */
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
    items: items ? `${ended} of ${items.total}` : null,
    share: items && items.total > 0 && status === "running" ? ended / items.total : null,
    count: countOf(result),
    branch: typeof branch === "string" ? branch : null,
    error: (error as { message?: string } | null)?.message ?? null,
    actionRunId,
  };
}

const isAlike = (one: StepState, other: StepState) =>
  (Object.keys(one) as (keyof StepState)[]).every((name) => one[name] === other[name]);

/** The states of a run's steps; of a step that has not changed since `before`, the same object. */
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

/** What `forEach`, `when`, `delay` and `onError` say of a step, for the chips on its edge. */
export function chipsOf(step: StepValue): { name: string; about: string; isPin?: true }[] {
  const { delay, pinned } = step as { delay?: { seconds?: unknown; until?: unknown }; pinned?: unknown };
  return [
    ...(step.when === undefined ? [] : [{ name: "when", about: `Runs only when ${step.when}` }]),
    ...(step.forEach === undefined
      ? []
      : [
          {
            name: "each",
            about:
              typeof step.forEach === "string"
                ? `Runs for each item of ${step.forEach}`
                : `Runs for each row of ${step.forEach.table}`,
          },
        ]),
    ...(delay
      ? [
          {
            name: "delay",
            about: `Waits ${delay.seconds ?? ""}${delay.seconds ? " s" : `until ${delay.until}`}`,
          },
        ]
      : []),
    ...(step.onError === "continue"
      ? [{ name: "continues", about: "The run continues if this step fails" }]
      : []),
    ...(pinned === undefined
      ? []
      : [{ name: "pinned", about: "Test runs use the pinned result", isPin: true as const }]),
  ];
}

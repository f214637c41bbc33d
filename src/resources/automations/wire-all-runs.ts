import { type Static, Type } from "@sinclair/typebox";
import {
  described,
  instant,
  nullable,
  object,
  offsetQuery,
  oneOf,
  optional,
  uuid,
} from "../../base/shape.ts";
import { RUN_STATUSES, TRIGGER_METHODS } from "../runs/table.ts";
import type { Viewer } from "../runs/wire-private.ts";
import { People } from "../users/wire.ts";
import type { AutomationRunRow } from "./table.ts";
import { AutomationRun, toAutomationRun } from "./wire.ts";

export const AllRunsQuery = object({
  q: optional(
    described(
      "Text in the error message, the automation's name or slug, or the run's ID",
      Type.String({ maxLength: 255 }),
    ),
  ),
  automation_id: optional(uuid()),
  statuses: optional(Type.Array(oneOf(RUN_STATUSES), { description: "Only runs with these statuses" })),
  trigger_method: optional(oneOf(TRIGGER_METHODS)),
  step: optional(
    described(
      "Only runs that failed at the step with this key",
      Type.String({ minLength: 1, maxLength: 100 }),
    ),
  ),
  since: optional(instant()),
  until: optional(instant()),
  ...offsetQuery(50),
});
export type AllRunsQuery = Static<typeof AllRunsQuery>;

const ListedRun = object({
  ...AutomationRun.properties,
  steps: Type.Array(
    object({
      ...AutomationRun.properties.steps.items.properties,
      name: described("The step's name. Null if it has none", nullable(Type.String())),
    }),
  ),
  automationName: described(
    "The automation's current name. Null if it was permanently deleted",
    nullable(Type.String()),
  ),
});

export const AllRunsPage = object({
  runs: Type.Array(ListedRun),
  hasNext: Type.Boolean(),
  limit: Type.Integer(),
  offset: Type.Integer(),
  total: Type.Integer(),
  users: People,
});

export const toListedRun = (
  viewer: Viewer,
  row: AutomationRunRow,
  names: ReadonlyMap<string, string>,
  stepName: (runId: string, key: string) => string | null,
): Static<typeof ListedRun> => {
  const { steps, ...run } = toAutomationRun(viewer, row);
  return {
    ...run,
    steps: steps.map((step) => ({ ...step, name: stepName(row.id, step.key) })),
    automationName: names.get(row.automationId) ?? null,
  };
};

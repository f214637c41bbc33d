import { useMemo } from "react";
import { useApi } from "../../data.ts";
import type { Actions } from "./kinds.ts";
import type { StepValue } from "./steps-config.ts";

/** A connection that a step uses. */
export interface Used {
  readonly name: string;
  readonly provider: string;
}

const NONE: readonly [string, Used][] = [];

export const connectionOf = (step: StepValue, actions: Actions): string =>
  step.connectionId ?? actions.get(step.actionId ?? "")?.connectionId ?? "";

/** Connections by their ids. Asks for nothing where no step uses one. */
export function useConnections(steps: readonly StepValue[], actions: Actions): ReadonlyMap<string, Used> {
  const enabled = steps.some((step) => connectionOf(step, actions) !== "");
  const connections = useApi("GET /api/v1/connections", { query: { limit: 100 } }, { enabled }).data;
  return useMemo(
    () => new Map(connections?.connections.map((each) => [each.id, each]) ?? NONE),
    [connections],
  );
}

import { useMemo } from "react";
import { useApi } from "../../data.ts";
import type { Actions } from "./kinds.ts";
import type { StepValue } from "./steps-config.ts";

/** A connection that a step uses. */
export interface Used {
  readonly name: string;
  readonly provider: string;
}

/** Maximum number per response. An automation has at most twice as many steps. */
const MOST = 100;
const NONE: readonly [] = [];

export const connectionOf = (step: StepValue, actions: Actions): string =>
  step.connectionId ?? actions.get(step.actionId ?? "")?.connectionId ?? "";

/**
 * Connections by ID. Loads nothing if no step uses one,
 * and loads by ID only those that aren't in the editor's list of connections, which is loaded anyway.
 */
export function useConnections(steps: readonly StepValue[], actions: Actions): ReadonlyMap<string, Used> {
  const ids = [...new Set(steps.map((step) => connectionOf(step, actions)).filter(Boolean))].sort();
  const list = useApi(
    "GET /api/v1/connections",
    { query: { limit: MOST } },
    { enabled: ids.length > 0 },
  ).data;
  const listed = list?.connections ?? NONE;
  const others = list?.hasNext ? ids.filter((id) => !listed.some((each) => each.id === id)) : NONE;
  const some = useOthers(others.slice(0, MOST));
  const more = useOthers(others.slice(MOST, 2 * MOST));
  return useMemo(
    () => new Map([...listed, ...some, ...more].map((each) => [each.id, each])),
    [listed, some, more],
  );
}

function useOthers(ids: readonly string[]) {
  const query = { ids: [...ids], limit: MOST };
  return (
    useApi("GET /api/v1/connections", { query }, { enabled: ids.length > 0, keep: true }).data?.connections ??
    NONE
  );
}

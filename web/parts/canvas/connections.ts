import { useMemo } from "react";
import { useApi } from "../../data.ts";
import { known } from "../../texts/text.ts";
import type { Actions } from "./kinds.ts";
import type { StepValue } from "./steps-config.ts";

/** A connection that a step uses, and the system that it leads to. */
export interface Used {
  readonly name: string;
  readonly provider: string;
  readonly title: string;
}

const NONE: ReadonlyMap<string, Used> = new Map();

export const connectionOf = (step: StepValue, actions: Actions): string =>
  step.connectionId ?? actions.get(step.actionId ?? "")?.connectionId ?? "";

/** Connections by their ids. Asks for nothing where no step uses one. */
export function useConnections(steps: readonly StepValue[], actions: Actions): ReadonlyMap<string, Used> {
  const enabled = steps.some((step) => connectionOf(step, actions) !== "");
  const connections = useApi("GET /api/v1/connections", { query: { limit: 100 } }, { enabled }).data;
  const providers = useApi("GET /api/v1/connection-providers", {}, { enabled, isFixed: true }).data;
  return useMemo(() => {
    if (!connections || !providers) return NONE;
    const titles = new Map(providers.providers.map(({ id, title }) => [id, title]));
    return new Map(
      connections.connections.map(({ id, name, provider }) => [
        id,
        { name, provider, title: known(titles.get(provider) ?? provider) },
      ]),
    );
  }, [connections, providers]);
}

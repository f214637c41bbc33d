import { useMemo } from "react";
import type { Action } from "../../calls.ts";
import { useApi } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { useActionKinds } from "../base/action-kinds.ts";
import type { Actions } from "../canvas/kinds.ts";
import type { StepValue } from "../canvas/steps-config.ts";

/** Maximum number of actions in one reply. An automation has at most twice as many steps. */
const MAX_ACTIONS = 100;
const NONE: readonly Action[] = [];

function useActions(ids: readonly string[]): readonly Action[] {
  const query = { ids: [...ids], limit: MAX_ACTIONS };
  return (
    useApi("GET /api/v1/actions", { query }, { enabled: ids.length > 0, keep: true }).data?.actions ?? NONE
  );
}

/** The actions that steps refer to, however many exist. */
export function useStepActions(steps: readonly StepValue[]): Actions {
  const ids = [...new Set(steps.flatMap(({ actionId }) => actionId ?? []))].sort();
  const some = useActions(ids.slice(0, MAX_ACTIONS));
  const others = useActions(ids.slice(MAX_ACTIONS, 2 * MAX_ACTIONS));
  return useMemo(() => new Map([...some, ...others].map((action) => [action.id, action])), [some, others]);
}

/** Action kinds with their titles. */
export function useKinds() {
  const { data } = useActionKinds();
  return useMemo(() => {
    const kinds = data?.kinds ?? [];
    const titles = new Map<string, string>(kinds.map(({ kind, title }) => [kind, title]));
    return { kinds, titleOf: (kind: string) => titles.get(kind) ?? (kind || t("Step")) };
  }, [data]);
}

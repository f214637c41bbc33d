import { useQueries } from "@tanstack/react-query";
import { useMemo } from "react";
import { call } from "../../api.ts";
import type { Action } from "../../calls.ts";
import { t } from "../../texts/text.ts";
import { useActionKinds } from "../base/action-kinds.ts";
import type { Actions } from "../canvas/kinds.ts";
import type { StepValue } from "../canvas/steps-config.ts";

const FRESH_MS = 60_000;

const loaded = (replies: { data: Action | undefined }[]): Actions =>
  new Map(replies.flatMap(({ data }) => (data ? [[data.id, data] as const] : [])));

/** The actions that steps name: these alone, however many there are. */
export function useStepActions(steps: readonly StepValue[]): Actions {
  const wanted = [...new Set(steps.flatMap(({ actionId }) => actionId ?? []))].sort().join();
  const ids = useMemo(() => (wanted === "" ? [] : wanted.split(",")), [wanted]);
  return useQueries({
    queries: ids.map((id) => {
      const input = { path: { action_id: id } };
      return {
        queryKey: ["GET /api/v1/actions/{action_id}", input],
        queryFn: ({ signal }: { signal: AbortSignal }) =>
          call("GET /api/v1/actions/{action_id}", input, { signal }),
        staleTime: FRESH_MS,
      };
    }),
    combine: loaded,
  });
}

/** Kinds of work with the titles that people know them by. */
export function useKinds() {
  const { data } = useActionKinds();
  return useMemo(() => {
    const kinds = data?.kinds ?? [];
    const titles = new Map<string, string>(kinds.map(({ kind, title }) => [kind, title]));
    return { kinds, titleOf: (kind: string) => titles.get(kind) ?? (kind || t("Step")) };
  }, [data]);
}

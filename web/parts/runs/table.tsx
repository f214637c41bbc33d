import { useQueries } from "@tanstack/react-query";
import { ApiError, call } from "../../api.ts";
import type { AutomationRun, Run } from "../../calls.ts";
import { useApi } from "../../data.ts";
import { Status } from "../base/status.tsx";
import { Took, When } from "../base/time.tsx";
import { type Column, Named, Table } from "../table/table.tsx";

const NAME_FRESH_MS = 120_000;

/** Names of actions by id; a deleted one has none. */
export function useActionNames(ids: readonly (string | null)[]): ReadonlyMap<string, string> {
  const wanted = [...new Set(ids.filter((id) => id !== null))];
  const found = useQueries({
    queries: wanted.map((id) => ({
      queryKey: ["GET /api/v1/actions/{action_id}", { path: { action_id: id } }],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        call("GET /api/v1/actions/{action_id}", { path: { action_id: id } }, { signal }),
      staleTime: NAME_FRESH_MS,
      retry: (count: number, error: Error) => count < 1 && !(error instanceof ApiError),
    })),
  });
  return new Map(wanted.flatMap((id, at) => (found[at]?.data ? [[id, found[at].data.name] as const] : [])));
}

/** Names of the automations that set runs off. */
export function useAutomationNames(runs: readonly Run[]): ReadonlyMap<string, string> {
  const wanted = [
    ...new Set(
      runs.flatMap(({ triggerSourceType, triggerSourceId }) =>
        triggerSourceType === "automation" && triggerSourceId !== null ? [triggerSourceId] : [],
      ),
    ),
  ];
  const found = useQueries({
    queries: wanted.map((id) => ({
      queryKey: ["GET /api/v1/automations/{automation_id}", { path: { automation_id: id } }],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        call("GET /api/v1/automations/{automation_id}", { path: { automation_id: id } }, { signal }),
      staleTime: NAME_FRESH_MS,
      retry: false,
    })),
  });
  return new Map(wanted.flatMap((id, at) => (found[at]?.data ? [[id, found[at].data.name] as const] : [])));
}

const progressOf = ({ progress, status }: Run): string | null => {
  if (status !== "running" || !progress) return null;
  const { message, percent, phase } = progress as { message?: string; percent?: number; phase?: string };
  return [typeof percent === "number" ? `${Math.round(percent)} %` : null, message ?? phase]
    .filter(Boolean)
    .join(" · ");
};

interface Props {
  runs: readonly Run[];
  hidesAction?: boolean;
  /** Of the automation run that they belong to, whose keys name them. */
  steps?: AutomationRun["steps"];
}

/** Runs with their status, what they ran and for how long. */
export function RunTable({ runs, hidesAction = false, steps = [] }: Props) {
  const names = useActionNames(hidesAction ? [] : runs.map(({ actionId }) => actionId));
  const automations = useAutomationNames(runs);
  const kinds = useApi("GET /api/v1/action-kinds", {}, { isFixed: true });
  const keys = new Map(steps.map(({ key, actionRunId }) => [actionRunId, key]));
  const titleOf = (kind: string) => kinds.data?.kinds.find((each) => each.kind === kind)?.title ?? kind;
  const columns: Column<Run>[] = [
    {
      name: "Run",
      isWide: true,
      cell: (run) => {
        const title = titleOf(run.kind);
        const known = keys.get(run.id) ?? names.get(run.actionId ?? "") ?? title;
        const name = hidesAction ? run.id.slice(-12) : known;
        const whose = keys.has(run.id) ? title : (automations.get(run.triggerSourceId ?? "") ?? title);
        const why = (run.error as { message?: string } | null)?.message ?? progressOf(run);
        return <Named name={name} below={[whose === name ? null : whose, why].filter(Boolean).join(" · ")} />;
      },
    },
    { name: "Status", cell: (run) => <Status status={run.status} label={run.displayStatus} /> },
    {
      name: "Trigger",
      isMinor: true,
      cell: ({ triggerMethod }) => <span className="text-soft">{triggerMethod}</span>,
    },
    {
      name: "Duration",
      isRight: true,
      isMinor: true,
      cell: ({ durationSeconds }) => <Took seconds={durationSeconds} />,
    },
    { name: "Created", isRight: true, cell: ({ createdAt }) => <When at={createdAt} /> },
  ];
  return (
    <Table
      label="Runs"
      columns={columns}
      rows={runs}
      keyOf={({ id }) => id}
      hrefOf={({ id }) => `/runs/${id}`}
    />
  );
}

import type { AutomationRun, ListedRun } from "../../calls.ts";
import { t } from "../../texts/text.ts";
import { useActionKinds } from "../base/action-kinds.ts";
import { Status } from "../base/status.tsx";
import { Took, When } from "../base/time.tsx";
import { type Column, Named, Table } from "../table/table.tsx";
import { triggerName } from "./filters.tsx";
import { progressOf } from "./progress.ts";

interface Props {
  runs: readonly ListedRun[];
  hidesAction?: boolean;
  /** Steps of their automation run, whose keys name them. */
  steps?: AutomationRun["steps"];
}

/** Runs with status, action and duration. */
export function RunTable({ runs, hidesAction = false, steps = [] }: Props) {
  const kinds = useActionKinds();
  const keys = new Map(steps.map(({ key, actionRunId }) => [actionRunId, key]));
  const titleOf = (kind: string) => kinds.data?.kinds.find((each) => each.kind === kind)?.title ?? kind;
  const columns: Column<ListedRun>[] = [
    {
      name: t("Run"),
      isWide: true,
      cell: (run) => {
        const title = titleOf(run.kind);
        const step = run.stepName ?? run.stepKey;
        const known = run.stepName ?? keys.get(run.id) ?? run.actionName ?? step ?? title;
        const name = hidesAction ? run.id.slice(-12) : known;
        const whose = keys.has(run.id) ? title : (run.automationName ?? title);
        const why = (run.error as { message?: string } | null)?.message ?? progressOf(run);
        const kind = step === known && whose !== title ? title : null;
        const below = [whose === name ? null : whose, why ?? kind];
        return <Named name={name} below={below.filter(Boolean).join(" · ")} />;
      },
    },
    { name: t("Status"), cell: (run) => <Status status={run.status} label={run.displayStatus} isShort /> },
    {
      name: t("Trigger"),
      isMinor: true,
      cell: ({ triggerMethod }) => <span className="text-soft">{triggerName(triggerMethod)}</span>,
    },
    {
      name: t("Duration"),
      isRight: true,
      isMinor: true,
      cell: ({ durationSeconds }) => <Took seconds={durationSeconds} />,
    },
    { name: t("Created"), isRight: true, cell: ({ createdAt }) => <When at={createdAt} /> },
  ];
  return (
    <Table
      label={t("Runs")}
      columns={columns}
      rows={runs}
      keyOf={({ id }) => id}
      hrefOf={({ id }) => `/runs/${id}`}
    />
  );
}

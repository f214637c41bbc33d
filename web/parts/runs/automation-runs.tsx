import { Ban, RotateCcw, Route } from "lucide-react";
import { useState } from "react";
import type { Reply } from "../../calls.ts";
import { useApi, useMay } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Button, LinkButton } from "../base/button.tsx";
import { Dialog } from "../base/dialog.tsx";
import { Empty, Shown } from "../base/page.tsx";
import { plural } from "../base/plural.ts";
import { Status } from "../base/status.tsx";
import { Took, When } from "../base/time.tsx";
import { useBulk } from "../table/bulk.ts";
import { FilterBar, SearchField } from "../table/filters.tsx";
import { NoMatches } from "../table/no-matches.tsx";
import { SelectionBar, useSelection } from "../table/selection.tsx";
import { type Column, Named, Pager, Table, useFilters } from "../table/table.tsx";
import { AutomationChoice, StepChoice } from "./automation-choice.tsx";
import { cancelRun, retryRun } from "./bulk.ts";
import { runQueryOf, StatusChoice, TriggerAndTime, triggerName } from "./filters.tsx";
import { stepsOver } from "./step-counts.ts";
import { isOver, secondsOf } from "./time.ts";

const LIMIT = 50;

type Page = Reply<"GET /api/v1/automation-runs">;
type Row = Page["runs"][number];

/** Why a run failed, or which steps are running. */
function detailOf({ error, steps, status }: Row): string | null {
  const { message } = (error ?? {}) as { message?: string };
  if (message) return message;
  if (status !== "running" && status !== "waiting") return null;
  const active = steps.filter((step) => step.status === "running" || step.status === "waiting");
  return [stepsOver(steps), ...active.map(({ key, name }) => name ?? key)].join(" · ");
}

const columns: readonly Column<Row>[] = [
  {
    name: t("Automation"),
    isWide: true,
    cell: (run) => <Named name={run.automationName ?? t("Deleted automation")} below={detailOf(run)} />,
  },
  {
    name: t("Status"),
    cell: ({ status, displayStatus }) => <Status status={status} label={displayStatus} isShort />,
  },
  {
    name: t("Trigger"),
    isMinor: true,
    cell: ({ triggerMethod }) => <span className="text-soft">{triggerName(triggerMethod)}</span>,
  },
  { name: t("Duration"), isRight: true, isMinor: true, cell: (run) => <Took seconds={secondsOf(run)} /> },
  { name: t("Created"), isRight: true, cell: ({ createdAt }) => <When at={createdAt} /> },
];

/** Automation runs of the whole organization, filtered by the URL. */
export function AutomationRuns() {
  const filters = useFilters();
  const runs = useApi(
    "GET /api/v1/automation-runs",
    {
      query: {
        ...runQueryOf(filters),
        q: filters.get("q"),
        automation_id: filters.get("automation"),
        step: filters.get("step"),
        limit: LIMIT,
        offset: filters.offset,
      },
    },
    { keep: true },
  );
  return (
    <div className="card">
      <FilterBar onClear={filters.isAny && filters.clear}>
        <SearchField
          label={t("Name, ID or error")}
          value={filters.get("q")}
          onChange={(value) => filters.set("q", value)}
        />
        <AutomationChoice filters={filters} />
        <StatusChoice filters={filters} />
        <StepChoice filters={filters} />
        <TriggerAndTime filters={filters} />
      </FilterBar>
      <Shown of={runs} rows={8}>
        {(page) =>
          page.runs.length > 0 ? (
            <Found page={page} />
          ) : filters.isAny ? (
            <NoMatches title={t("No runs match these filters")} onClear={filters.clear} />
          ) : (
            <Empty
              icon={Route}
              title={t("No automation runs yet")}
              action={
                <LinkButton href="/automations" kind="main">
                  {t("View automations")}
                </LinkButton>
              }
            >
              {t("A run appears here each time an automation is triggered.")}
            </Empty>
          )
        }
      </Shown>
    </div>
  );
}

function Found({ page }: { page: Page }) {
  const may = useMay("member");
  const selection = useSelection(page.runs, ({ automationName, id }) => `${automationName} ${id.slice(-12)}`);
  return (
    <>
      <Table
        label={t("Automation runs")}
        columns={may ? [selection.column, ...columns] : columns}
        rows={page.runs}
        keyOf={({ id }) => id}
        hrefOf={({ id }) => `/automation-runs/${id}`}
      />
      {selection.chosen.length > 0 && <Bulk selection={selection} />}
      <Pager {...page} shown={page.runs.length} />
    </>
  );
}

const TOUCHES = ["/automation-runs", "/action-runs", "/automations", "/overview"] as const;

/** Operations on selected runs. */
function Bulk({ selection }: { selection: ReturnType<typeof useSelection<Row>> }) {
  const { chosen, clear } = selection;
  const [isCancelling, setCancelling] = useState(false);
  const retry = useBulk(
    retryRun,
    {
      done: { one: "# run retried", other: "# runs retried" },
      failed: { one: "Couldn't retry # run", other: "Couldn't retry # runs" },
    },
    TOUCHES,
  );
  const cancel = useBulk(
    cancelRun,
    {
      done: { one: "# run cancelled", other: "# runs cancelled" },
      failed: { one: "Couldn't cancel # run", other: "Couldn't cancel # runs" },
    },
    TOUCHES,
  );
  const broken = chosen.filter(({ status }) => status === "failed" || status === "cancelled");
  const active = chosen.filter(({ status }) => !isOver(status));
  const cancelLabel = plural(active.length, { one: "Cancel # run", other: "Cancel # runs" });
  return (
    <SelectionBar count={chosen.length} onClear={clear}>
      {broken.length > 0 && (
        <Button icon={RotateCcw} busy={retry.isBusy} onClick={() => void retry.run(broken).then(clear)}>
          {plural(broken.length, { one: "Retry # run", other: "Retry # runs" })}
        </Button>
      )}
      {active.length > 0 && (
        <Button kind="bad" icon={Ban} busy={cancel.isBusy} onClick={() => setCancelling(true)}>
          {cancelLabel}
        </Button>
      )}
      {isCancelling && (
        <Dialog
          title={`${cancelLabel}?`}
          onClose={() => setCancelling(false)}
          foot={
            <>
              <Button onClick={() => setCancelling(false)}>{t("Keep running")}</Button>
              <Button
                kind="bad"
                busy={cancel.isBusy}
                onClick={() =>
                  void cancel.run(active).then(() => {
                    setCancelling(false);
                    clear();
                  })
                }
              >
                {cancelLabel}
              </Button>
            </>
          }
        >
          <p className="text-soft">
            {t("Steps that are running are stopped. What they have written is kept.")}
          </p>
        </Dialog>
      )}
    </SelectionBar>
  );
}

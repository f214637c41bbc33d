import { ListChecks } from "lucide-react";
import { useApi } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { useActionKinds } from "../base/action-kinds.ts";
import { LinkButton } from "../base/button.tsx";
import { Empty, Shown } from "../base/page.tsx";
import { Choice, FilterBar, SearchField } from "../table/filters.tsx";
import { LinkedChip } from "../table/linked-chip.tsx";
import { NoMatches } from "../table/no-matches.tsx";
import { Pager, useFilters } from "../table/table.tsx";
import { runQueryOf, StatusChoice, TriggerAndTime } from "./filters.tsx";
import { RunTable } from "./table.tsx";

const LIMIT = 50;

/** Action runs of the whole organization, filtered by the URL. */
export function ActionRuns() {
  const filters = useFilters();
  const kinds = useActionKinds();
  const runs = useApi(
    "GET /api/v1/action-runs",
    {
      query: {
        ...runQueryOf(filters),
        q: filters.get("q"),
        kinds: filters.all("kind") as never[],
        action_id: filters.get("action"),
        automation_run_id: filters.get("automation_run"),
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
          label={t("Action, ID or error")}
          value={filters.get("q")}
          onChange={(value) => filters.set("q", value)}
        />
        <StatusChoice filters={filters} />
        <Choice
          label={t("Kind")}
          value={filters.get("kind")}
          options={(kinds.data?.kinds ?? []).map(({ kind, title }) => [kind, title] as const)}
          onChange={(value) => filters.set("kind", value)}
        />
        <TriggerAndTime filters={filters} />
        <LinkedChip
          filters={filters}
          name="action"
          title={t("Action")}
          shown={runs.data?.runs[0]?.actionName ?? undefined}
        />
        <LinkedChip filters={filters} name="automation_run" title={t("Automation run")} />
      </FilterBar>
      <Shown of={runs} rows={8}>
        {(page) =>
          page.runs.length > 0 ? (
            <>
              <RunTable runs={page.runs} />
              <Pager {...page} shown={page.runs.length} />
            </>
          ) : filters.isAny ? (
            <NoMatches title={t("No runs match these filters")} onClear={filters.clear} />
          ) : (
            <Empty
              icon={ListChecks}
              title={t("No runs yet")}
              action={
                <>
                  <LinkButton href="/actions/new" kind="main">
                    {t("Create action")}
                  </LinkButton>
                  <LinkButton href="/bundles">{t("Browse bundles")}</LinkButton>
                </>
              }
            >
              {t("Runs appear here when you run an action or an automation starts one.")}
            </Empty>
          )
        }
      </Shown>
    </div>
  );
}

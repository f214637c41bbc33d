import { FileText } from "lucide-react";
import type { Artifact } from "../calls.ts";
import { useApi } from "../data.ts";
import { fileOf, kindOf, titleOf } from "../parts/artifacts/artifact.ts";
import { LinkButton } from "../parts/base/button.tsx";
import { Empty, PageHead, Shown } from "../parts/base/page.tsx";
import { Tag } from "../parts/base/status.tsx";
import { sized, When } from "../parts/base/time.tsx";
import { Chip, Choice, FilterBar } from "../parts/table/filters.tsx";
import { NoMatches } from "../parts/table/no-matches.tsx";
import { type Column, Named, Pager, Table, useFilters } from "../parts/table/table.tsx";
import { t } from "../texts/text.ts";

const LIMIT = 50;

const COLUMNS: readonly Column<Artifact>[] = [
  {
    name: t("Title"),
    isWide: true,
    cell: (artifact) => (
      <Named
        name={titleOf(artifact)}
        below={
          artifact.title === null
            ? t("Run {slice}", { slice: artifact.actionRunId.slice(-12) })
            : fileOf(artifact)?.name
        }
      />
    ),
  },
  { name: t("Kind"), cell: (artifact) => <Tag>{kindOf(artifact)}</Tag> },
  {
    name: t("Size"),
    isRight: true,
    isMinor: true,
    cell: (artifact) => sized(fileOf(artifact)?.bytes ?? null),
  },
  { name: t("Created"), isRight: true, isMinor: true, cell: ({ createdAt }) => <When at={createdAt} /> },
];

export default function Artifacts() {
  const filters = useFilters();
  const kind = filters.get("kind");
  const run = filters.get("run");
  const query = {
    ...(kind ? { kind } : {}),
    ...(run ? { action_run_id: run } : {}),
    limit: LIMIT,
    offset: filters.offset,
  };
  const artifacts = useApi("GET /api/v1/artifacts", { query: query as never }, { keep: true });
  return (
    <>
      <PageHead title={t("Artifacts")} about={t("Reports, files and large results produced by runs.")} />
      <div className="card">
        <FilterBar onClear={filters.isAny && filters.clear}>
          <Choice
            label={t("Kind")}
            value={kind}
            options={[
              ["json", "JSON"],
              ["text", t("Text")],
              ["file", t("File")],
            ]}
            onChange={(value) => filters.set("kind", value)}
          />
          {run && <Chip name={t("Run")} value={run} onDrop={() => filters.set("run", "")} />}
        </FilterBar>
        <Shown of={artifacts} rows={8}>
          {(page) =>
            page.artifacts.length > 0 ? (
              <>
                <Table
                  label={t("Artifacts")}
                  columns={COLUMNS}
                  rows={page.artifacts}
                  keyOf={({ id }) => id}
                  hrefOf={({ id }) => `/artifacts/${id}`}
                />
                <Pager {...page} shown={page.artifacts.length} />
              </>
            ) : filters.isAny ? (
              <NoMatches title={t("No artifacts match these filters")} onClear={filters.clear} />
            ) : (
              <Empty
                icon={FileText}
                title={t("No artifacts yet")}
                action={
                  <LinkButton href="/actions" kind="main">
                    {t("Run action")}
                  </LinkButton>
                }
              >
                {t("Large run results, and files added through the API, appear here.")}
              </Empty>
            )
          }
        </Shown>
      </div>
    </>
  );
}

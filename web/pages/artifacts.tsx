import { FileText } from "lucide-react";
import type { Artifact } from "../calls.ts";
import { useApi } from "../data.ts";
import { fileOf, titleOf } from "../parts/artifacts/artifact.ts";
import { LinkButton } from "../parts/base/button.tsx";
import { Empty, PageHead, Shown } from "../parts/base/page.tsx";
import { Tag } from "../parts/base/status.tsx";
import { sized, When } from "../parts/base/time.tsx";
import { Chip, Choice, FilterBar } from "../parts/table/filters.tsx";
import { NoMatches } from "../parts/table/no-matches.tsx";
import { type Column, Named, Pager, Table, useFilters } from "../parts/table/table.tsx";

const LIMIT = 50;

const COLUMNS: readonly Column<Artifact>[] = [
  {
    name: "Title",
    isWide: true,
    cell: (artifact) => (
      <Named
        name={titleOf(artifact)}
        below={artifact.title === null ? `Run ${artifact.actionRunId.slice(-12)}` : fileOf(artifact)?.name}
      />
    ),
  },
  { name: "Kind", cell: (artifact) => <Tag>{fileOf(artifact)?.type ?? artifact.kind}</Tag> },
  {
    name: "Size",
    isRight: true,
    isMinor: true,
    cell: (artifact) => sized(fileOf(artifact)?.bytes ?? null),
  },
  { name: "Created", isRight: true, isMinor: true, cell: ({ createdAt }) => <When at={createdAt} /> },
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
      <PageHead title="Artifacts" about="Reports, files and large results produced by runs." />
      <div className="card">
        <FilterBar onClear={filters.isAny && filters.clear}>
          <Choice
            label="Kind"
            value={kind}
            options={[
              ["json", "JSON"],
              ["text", "Text"],
              ["file", "File"],
            ]}
            onChange={(value) => filters.set("kind", value)}
          />
          {run && <Chip name="Run" value={run} onDrop={() => filters.set("run", "")} />}
        </FilterBar>
        <Shown of={artifacts} rows={8}>
          {(page) =>
            page.artifacts.length > 0 ? (
              <>
                <Table
                  label="Artifacts"
                  columns={COLUMNS}
                  rows={page.artifacts}
                  keyOf={({ id }) => id}
                  hrefOf={({ id }) => `/artifacts/${id}`}
                />
                <Pager {...page} shown={page.artifacts.length} />
              </>
            ) : filters.isAny ? (
              <NoMatches title="No artifacts match these filters" onClear={filters.clear} />
            ) : (
              <Empty
                icon={FileText}
                title="No artifacts yet"
                action={
                  <LinkButton href="/actions" kind="main">
                    Run action
                  </LinkButton>
                }
              >
                Large run results, and files added through the API, appear here.
              </Empty>
            )
          }
        </Shown>
      </div>
    </>
  );
}

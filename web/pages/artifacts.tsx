import { FileText, SearchX } from "lucide-react";
import type { Artifact } from "../calls.ts";
import { useApi } from "../data.ts";
import { fileOf, titleOf } from "../parts/artifacts/artifact.ts";
import { Button, LinkButton } from "../parts/base/button.tsx";
import { Empty, PageHead, Shown } from "../parts/base/page.tsx";
import { Tag } from "../parts/base/status.tsx";
import { sized, When } from "../parts/base/time.tsx";
import { Chip, Choice, FilterBar } from "../parts/table/filters.tsx";
import { type Column, Named, Pager, Table, useFilters } from "../parts/table/table.tsx";

const LIMIT = 50;

const COLUMNS: readonly Column<Artifact>[] = [
  {
    name: "Title",
    isWide: true,
    cell: (artifact) => (
      <Named
        name={titleOf(artifact)}
        below={artifact.title === null ? `run ${artifact.actionRunId.slice(-12)}` : fileOf(artifact)?.name}
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
      <PageHead title="Artifacts" about="What runs left behind to be looked at: reports, extracts, files." />
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
          {run && <Chip name="run" value={run} onDrop={() => filters.set("run", "")} />}
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
              <Empty
                icon={SearchX}
                title="No artifact fits these filters"
                action={<Button onClick={filters.clear}>Clear filters</Button>}
              />
            ) : (
              <Empty
                icon={FileText}
                title="No artifacts yet"
                action={
                  <LinkButton href="/actions" kind="main">
                    Run an action
                  </LinkButton>
                }
              >
                Results too large to stand in a run, and files that programs add to one, are kept here.
              </Empty>
            )
          }
        </Shown>
      </div>
    </>
  );
}

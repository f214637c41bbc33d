import { Bot, Plus, SearchX } from "lucide-react";
import type { AgentSpec } from "../calls.ts";
import { useApi, useMay } from "../data.ts";
import { NoModel } from "../parts/agents/no-model.tsx";
import { Button, LinkButton } from "../parts/base/button.tsx";
import { Empty, PageHead, Shown } from "../parts/base/page.tsx";
import { When } from "../parts/base/time.tsx";
import { Choice, FilterBar } from "../parts/table/filters.tsx";
import { type Column, Named, Pager, Table, useFilters } from "../parts/table/table.tsx";
import { t } from "../texts/text.ts";

const LIMIT = 50;

/** The first tools of an agent, and how many more it has. */
function toolsLine({ frontmatter: { tools } }: AgentSpec): string {
  const names = Array.isArray(tools) ? tools.map(String) : [];
  if (names.length === 0) return t("none");
  return names.slice(0, 3).join(", ") + (names.length > 3 ? ` +${names.length - 3}` : "");
}

const COLUMNS: readonly Column<AgentSpec>[] = [
  {
    name: t("Name"),
    isWide: true,
    cell: ({ name, slug, description }) => <Named name={name} below={description ?? slug} />,
  },
  {
    name: t("Tools"),
    isMinor: true,
    cell: (agent) => (
      <span className="block max-w-72 truncate font-mono text-xs text-soft">{toolsLine(agent)}</span>
    ),
  },
  { name: t("Updated"), isRight: true, cell: ({ updatedAt }) => <When at={updatedAt} /> },
];

export default function Agents() {
  const may = useMay("member");
  const filters = useFilters();
  const query = {
    ...(filters.get("owner") === "me" ? { owner_scope: "me" as const } : {}),
    limit: LIMIT,
    offset: filters.offset,
  };
  const agents = useApi("GET /api/v1/agents/specs", { query }, { keep: true });
  return (
    <>
      <PageHead
        title={t("Agents")}
        about={t(
          "An agent is a prompt and a list of allowed tools. It acts with the permissions of the user who asks.",
        )}
      >
        {may && (
          <LinkButton href="/agents/new" kind="main" icon={Plus}>
            {t("New agent")}
          </LinkButton>
        )}
      </PageHead>
      <NoModel />
      <div className="card">
        <FilterBar onClear={filters.isAny && filters.clear}>
          <Choice
            label={t("Created by")}
            value={filters.get("owner")}
            options={[["me", t("Me")]]}
            onChange={(value) => filters.set("owner", value)}
          />
        </FilterBar>
        <Shown of={agents} rows={8}>
          {({ specs, total }) =>
            specs.length > 0 ? (
              <>
                <Table
                  label={t("Agents")}
                  columns={COLUMNS}
                  rows={specs}
                  keyOf={({ id }) => id}
                  hrefOf={({ id }) => `/agents/${id}`}
                />
                <Pager offset={filters.offset} limit={LIMIT} total={total} shown={specs.length} />
              </>
            ) : filters.isAny ? (
              <Empty
                icon={SearchX}
                title={t("You haven't created any agents")}
                action={<Button onClick={filters.clear}>{t("Clear filters")}</Button>}
              />
            ) : (
              <Empty
                icon={Bot}
                title={t("No agents yet")}
                action={
                  may && (
                    <LinkButton href="/agents/new" kind="main">
                      {t("Create agent")}
                    </LinkButton>
                  )
                }
              >
                {t(
                  "An agent answers questions about your data, calls APIs and runs actions. In a chat, it asks for approval before it changes anything. In a run, it can't change anything that needs approval.",
                )}
              </Empty>
            )
          }
        </Shown>
      </div>
    </>
  );
}

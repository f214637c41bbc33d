import { Boxes } from "lucide-react";
import type { CatalogSummary } from "../calls.ts";
import { useApi } from "../data.ts";
import { plural } from "../parts/base/plural.ts";
import { Status, Tag } from "../parts/base/status.tsx";
import { When } from "../parts/base/time.tsx";
import { askOf, ListPage, ON_OFF } from "../parts/layout/list-page.tsx";
import { type Column, Named, useFilters } from "../parts/table/table.tsx";
import { t } from "../texts/text.ts";

const COLUMNS: readonly Column<CatalogSummary>[] = [
  {
    name: t("Name"),
    isWide: true,
    cell: ({ name, baseUrl, url }) => <Named name={name} below={baseUrl ?? url} />,
  },
  {
    name: t("Kind"),
    isMinor: true,
    cell: ({ type }) => <Tag>{type === "mcp" ? t("MCP server") : "HTTP"}</Tag>,
  },
  {
    name: t("Endpoints or tools"),
    isRight: true,
    isMinor: true,
    cell: ({ type, endpointCount, toolCount }) =>
      type === "mcp"
        ? plural(toolCount, { one: "# tool", other: "# tools" })
        : plural(endpointCount, { one: "# endpoint", other: "# endpoints" }),
  },
  { name: t("Status"), cell: ({ status }) => <Status status={status} /> },
  { name: t("Updated"), isRight: true, isMinor: true, cell: ({ updatedAt }) => <When at={updatedAt} /> },
];

export default function Catalog() {
  const filters = useFilters();
  const query = {
    ...askOf(filters),
    type: (filters.get("type") || undefined) as "http" | undefined,
    status: (filters.get("status") || undefined) as "active" | undefined,
  };
  const apis = useApi("GET /api/v1/api-catalog", { query: query as never }, { keep: true });
  return (
    <ListPage
      title={t("API catalog")}
      about={t("HTTP API endpoints and MCP tools that agents and actions can call.")}
      create={t("New API")}
      path="/catalog"
      icon={Boxes}
      filters={filters}
      choices={[
        {
          label: t("Kind"),
          name: "type",
          options: [
            ["http", "HTTP"],
            ["mcp", t("MCP server")],
          ],
        },
        { label: t("Status"), name: "status", options: ON_OFF },
      ]}
      of={apis}
      rowsOf={(page) => page.items}
      columns={COLUMNS}
      noMatches={t("No APIs match these filters")}
      none={t("No APIs yet")}
      first={t("Add API")}
      empty={t(
        "Import an API from a URL, OpenAPI, curl, HAR or Postman. You enable each endpoint individually.",
      )}
    />
  );
}

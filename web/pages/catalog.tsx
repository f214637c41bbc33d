import { Boxes } from "lucide-react";
import type { CatalogSummary } from "../calls.ts";
import { useApi } from "../data.ts";
import { Status, Tag } from "../parts/base/status.tsx";
import { counted, When } from "../parts/base/time.tsx";
import { askOf, ListPage, ON_OFF } from "../parts/layout/list-page.tsx";
import { type Column, Named, useFilters } from "../parts/table/table.tsx";

const COLUMNS: readonly Column<CatalogSummary>[] = [
  {
    name: "Name",
    isWide: true,
    cell: ({ name, baseUrl, url }) => <Named name={name} below={baseUrl ?? url} />,
  },
  { name: "Kind", isMinor: true, cell: ({ type }) => <Tag>{type === "mcp" ? "MCP server" : "HTTP"}</Tag> },
  {
    name: "Offers",
    isRight: true,
    cell: ({ type, endpointCount, toolCount }) =>
      type === "mcp" ? `${counted(toolCount)} tools` : `${counted(endpointCount)} endpoints`,
  },
  { name: "Status", cell: ({ status }) => <Status status={status} /> },
  { name: "Changed", isRight: true, isMinor: true, cell: ({ updatedAt }) => <When at={updatedAt} /> },
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
      title="APIs"
      about="What agents and actions may call: endpoints of HTTP APIs, and tools of MCP servers."
      noun="API"
      path="/catalog"
      icon={Boxes}
      filters={filters}
      choices={[
        {
          label: "Kind",
          name: "type",
          options: [
            ["http", "HTTP"],
            ["mcp", "MCP server"],
          ],
        },
        { label: "Status", name: "status", options: ON_OFF },
      ]}
      of={apis}
      rowsOf={(page) => page.items}
      columns={COLUMNS}
      first="Add an API"
      empty="Found by its address, or read from OpenAPI, curl, HAR or Postman. Each endpoint is allowed on its own."
    />
  );
}

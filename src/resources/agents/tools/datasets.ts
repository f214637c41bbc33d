import { sqlName } from "../../../lake/views.ts";
import { listDatasets } from "../../datasets/service.ts";
import type { ToolSource } from "./contract.ts";

const MAX_DATASETS = 100;

/** Lists tables and their columns. */
export const datasetsTool: ToolSource = {
  async open(ctx) {
    return [
      {
        name: "datasets",
        description: "Lists the organization's tables with their columns, by their names in SQL.",
        inputSchema: {
          type: "object",
          properties: {
            layer: {
              type: "string",
              maxLength: 100,
              description: "Only tables of this layer, such as raw or marts",
            },
            q: { type: "string", maxLength: 200, description: "Text in the name" },
          },
          additionalProperties: false,
        },
        approvalRequired: false,
        fingerprint: "datasets",
        async call({ input: { layer, q } }) {
          const { datasets, total } = await listDatasets(ctx, {
            limit: MAX_DATASETS,
            offset: 0,
            ...(typeof layer === "string" && layer !== "" ? { layer } : {}),
            ...(typeof q === "string" && q !== "" ? { q } : {}),
          });
          const tables = datasets.flatMap(({ layer, dataset, tables, updatedAt }) =>
            tables.map(({ name, rows, columns }) => ({
              table: `${layer}.${sqlName({ dataset, table: name })}`,
              rows,
              updatedAt,
              columns: columns.map((column) => `${column.name} ${column.dataType}`),
            })),
          );
          return {
            tables,
            ...(total > datasets.length
              ? { note: `These are ${datasets.length} of ${total} datasets.` }
              : {}),
          };
        },
      },
    ];
  },
};

import { operation } from "../../http/operation.ts";
import { deleteDataset, listDatasets, previewDataset } from "./service.ts";
import { DatasetPage, DatasetPlace, DatasetQuery, Preview, PreviewQuery } from "./wire.ts";

const tag = "Datasets";

export const datasetOperations = [
  operation({
    method: "GET",
    path: "/api/v1/datasets",
    audience: "viewer",
    tag,
    summary: "Lists the datasets of the lake with their tables",
    query: DatasetQuery,
    response: DatasetPage,
    async handle({ ctx, query }) {
      const { datasets, total } = await listDatasets(ctx, query);
      const { limit, offset } = query;
      return { datasets, hasNext: offset + datasets.length < total, limit, offset, total };
    },
  }),
  operation({
    method: "GET",
    path: "/api/v1/datasets/{layer}/{dataset}/preview",
    audience: "viewer",
    tag,
    summary: "Shows the first rows of a table",
    params: DatasetPlace,
    query: PreviewQuery,
    response: Preview,
    example: {
      columns: [{ name: "id", dataType: "BIGINT", nullable: true }],
      rows: [{ id: 1 }, { id: 2 }],
    },
    async handle({ ctx, params, query, visit }) {
      const { columns, rows } = await previewDataset(ctx, params, query, visit.request.signal);
      return { columns, rows };
    },
  }),
  operation({
    method: "DELETE",
    path: "/api/v1/datasets/{layer}/{dataset}",
    audience: "member",
    tag,
    summary: "Deletes a dataset with all its tables",
    description:
      "The cursors of incremental extracts that filled it are kept: the next run goes on where the last one ended. To load everything anew, reset the action's state.",
    params: DatasetPlace,
    status: 204,
    async handle({ ctx, params }) {
      await deleteDataset(ctx, params);
    },
  }),
];

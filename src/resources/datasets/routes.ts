import { operation } from "../../http/operation.ts";
import { readUpload } from "../../http/upload.ts";
import { readLineage } from "./lineage.ts";
import { deleteDataset, listDatasets, previewDataset } from "./service.ts";
import { MAX_UPLOAD_BYTES, uploadDataset } from "./upload.ts";
import {
  DatasetPage,
  DatasetQuery,
  DatasetRef,
  Lineage,
  LineageQuery,
  Preview,
  PreviewQuery,
  Uploaded,
  UploadQuery,
} from "./wire.ts";

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
    params: DatasetRef,
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
    method: "GET",
    path: "/api/v1/datasets/{layer}/{dataset}/lineage",
    audience: "viewer",
    tag,
    summary: "Tells which runs wrote a dataset and of what, and which read it",
    description:
      "Runs that completed; reads are those of transforms, by the tables that stand in their SQL. Reads are kept as long as runs are, loads for good.",
    params: DatasetRef,
    query: LineageQuery,
    response: Lineage,
    handle: ({ ctx, params, query }) => readLineage(ctx, params, query.limit),
  }),
  operation({
    method: "PUT",
    path: "/api/v1/datasets/{layer}/{dataset}/upload",
    audience: "member",
    tag,
    summary: "Loads the request's raw body, a file of at most 1 GiB, into a table",
    description:
      "CSV, a JSON list of objects, lines of JSON, or Parquet, plain or packed with gzip or Zstandard, which its first bytes tell; the limit is for what is unpacked too. The rows are visible all at once or, where something is wrong with the file, not at all; no value changes on the way: what has no type that holds it exactly stays text. Nested JSON stays JSON. The dataset and the table are made where they are missing; a table gets columns that it lacks.",
    params: DatasetRef,
    query: UploadQuery,
    consumes: "application/octet-stream",
    status: 201,
    response: Uploaded,
    errors: [408, 409, 413, 415],
    handle: ({ app, ctx, params, query, visit }) =>
      uploadDataset(ctx, params, query, {
        contentType: visit.request.headers.get("content-type"),
        open: () => readUpload(app, visit, MAX_UPLOAD_BYTES),
        signal: visit.request.signal,
      }),
  }),
  operation({
    method: "DELETE",
    path: "/api/v1/datasets/{layer}/{dataset}",
    audience: "member",
    tag,
    summary: "Deletes a dataset with all its tables",
    description:
      "The cursors of incremental extracts that filled it are kept: the next run goes on where the last one ended. To load everything anew, reset the action's state.",
    params: DatasetRef,
    status: 204,
    async handle({ ctx, params }) {
      await deleteDataset(ctx, params);
    },
  }),
];

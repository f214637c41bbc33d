import { operation } from "../../http/operation.ts";
import { readUpload } from "../../http/upload.ts";
import { readLineage } from "./lineage.ts";
import { profileTable } from "./profile.ts";
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
import { ProfileQuery, TableProfile } from "./wire-profile.ts";

const tag = "Datasets";

export const datasetOperations = [
  operation({
    method: "GET",
    path: "/api/v1/datasets",
    audience: "viewer",
    tag,
    summary: "List datasets and their tables",
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
    summary: "Preview a table",
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
    path: "/api/v1/datasets/{layer}/{dataset}/profile",
    audience: "viewer",
    tag,
    summary: "Profile a table",
    description:
      "Nulls, distinct values, minimum and maximum of each column, read from all rows. Counts against the organization's query limits.",
    params: DatasetRef,
    query: ProfileQuery,
    response: TableProfile,
    handle: ({ ctx, params, query, visit }) => profileTable(ctx, params, query.table, visit.request.signal),
  }),
  operation({
    method: "GET",
    path: "/api/v1/datasets/{layer}/{dataset}/lineage",
    audience: "viewer",
    tag,
    summary: "Get a dataset's lineage",
    description:
      "The completed runs that wrote the dataset, with their sources, and the transforms that read its tables in their SQL. Reads are kept as long as runs, loads permanently.",
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
    summary: "Upload a file to a table",
    description:
      "The raw body is the file: CSV, a JSON array of objects, JSON Lines or Parquet, optionally compressed with gzip or Zstandard (detected from its first bytes). The limit is 1 GiB, also when decompressed. All rows become visible at once, or none if the file has errors. No value is changed: values that no type represents exactly stay text. Nested JSON stays JSON. Each row has its own `_dlt_id` and `_dlt_load_id`: columns of the file with these names are kept if they can be those, as in a download, and renamed otherwise, with a warning. A missing dataset, table or column is created.",
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
    summary: "Delete a dataset",
    description:
      "With all of its tables. The cursors of incremental extracts that loaded it are kept: the next run continues from there. To load everything again, reset the action's incremental state.",
    params: DatasetRef,
    status: 204,
    async handle({ ctx, params }) {
      await deleteDataset(ctx, params);
    },
  }),
];

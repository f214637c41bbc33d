import { type Static, Type } from "@sinclair/typebox";
import { instant, jsonObject, nullable, object, offsetQuery, oneOf, optional } from "../../base/shape.ts";
import { FILE_FORMATS } from "../../lake/landing.ts";
import { LAKE_NAME_PATTERN, MAX_LAKE_NAME_CHARACTERS } from "../../lake/names.ts";

const lakeName = () =>
  Type.String({ minLength: 1, maxLength: MAX_LAKE_NAME_CHARACTERS, pattern: LAKE_NAME_PATTERN });

/** A column as DuckDB reports it. */
export const ColumnShape = object({
  name: Type.String(),
  dataType: Type.String({ description: "DuckDB type, such as `BIGINT`." }),
  nullable: Type.Boolean(),
});

/** Rows by column name. 64-bit integers beyond 2^53 and decimals are strings, times are ISO 8601. */
export const Rows = Type.Array(jsonObject());

export const Dataset = object({
  layer: Type.String(),
  dataset: Type.String(),
  tables: Type.Array(
    object({
      name: Type.String(),
      rows: Type.Integer(),
      bytes: Type.Integer(),
      files: Type.Integer(),
      columns: Type.Array(ColumnShape),
    }),
  ),
  updatedAt: instant(),
});
export type Dataset = Static<typeof Dataset>;

export const DatasetQuery = object({
  layer: optional(lakeName()),
  q: optional(Type.String({ maxLength: 255, description: "Text in the dataset's name or a table's." })),
  ...offsetQuery(50),
});
export type DatasetQuery = Static<typeof DatasetQuery>;

export const DatasetPage = object({
  datasets: Type.Array(Dataset),
  hasNext: Type.Boolean(),
  limit: Type.Integer(),
  offset: Type.Integer(),
  total: Type.Integer(),
});

export const DatasetRef = object({ layer: lakeName(), dataset: lakeName() });
export type DatasetRef = Static<typeof DatasetRef>;

export const PreviewQuery = object({
  table: optional(
    Type.String({
      minLength: 1,
      maxLength: MAX_LAKE_NAME_CHARACTERS,
      description: "Table to read. Default: the one with the dataset's name, or the only one.",
    }),
  ),
  limit: Type.Integer({ minimum: 1, maximum: 1000, default: 50 }),
});
export type PreviewQuery = Static<typeof PreviewQuery>;

export const Preview = object({ columns: Type.Array(ColumnShape), rows: Rows });

export const UploadQuery = object({
  table: optional(
    Type.String({
      minLength: 1,
      maxLength: MAX_LAKE_NAME_CHARACTERS,
      pattern: LAKE_NAME_PATTERN,
      description: "Table to write to. Default: the dataset's name.",
    }),
  ),
  format: optional(
    oneOf(FILE_FORMATS, { description: "Format of the file. Default: that of `Content-Type`." }),
  ),
  writeDisposition: oneOf(["replace", "append"], {
    default: "replace",
    description: "Whether the rows replace those of the table, or are added.",
  }),
  encoding: oneOf(["utf-8", "latin1", "utf-16"], {
    default: "utf-8",
    description:
      "Character encoding. `latin1` means windows-1252. A byte order mark shows UTF-8 and UTF-16 without it.",
  }),
  delimiter: optional(
    oneOf([",", ";", "\t", "|"], {
      description: "Delimiter of CSV. Default: the one that occurs most often in the first line.",
    }),
  ),
  header: Type.Boolean({ default: true, description: "Whether the first line of CSV names the columns." }),
});
export type UploadQuery = Static<typeof UploadQuery>;

export const Uploaded = object({
  loadId: Type.String({ description: "ID of the load, for `AS OF` in SQL." }),
  layer: Type.String(),
  dataset: Type.String(),
  table: Type.String(),
  rows: Type.Integer({ description: "Number of rows in the file." }),
  bytes: Type.Integer(),
  files: Type.Integer(),
  columns: Type.Array(ColumnShape),
  warnings: optional(Type.Array(Type.String(), { description: "What changed about the file's columns." })),
});
export type Uploaded = Static<typeof Uploaded>;

export const LineageQuery = object({ limit: Type.Integer({ minimum: 1, maximum: 100, default: 50 }) });
export type LineageQuery = Static<typeof LineageQuery>;

const Source = object({ layer: Type.String(), dataset: Type.String(), tables: Type.Array(Type.String()) });

export const Lineage = object({
  layer: Type.String(),
  dataset: Type.String(),
  writes: Type.Array(
    object({
      loadId: Type.String({ description: "ID of the load, for `AS OF` in SQL." }),
      kind: nullable(
        Type.String({
          description: "Kind of the action, `upload`, or `sync` for a sync from another organization.",
        }),
      ),
      actionRunId: nullable(Type.String()),
      actionId: nullable(Type.String()),
      committedAt: instant(),
      sources: Type.Array(Source, { description: "What the run read." }),
    }),
    { description: "Recent loads, newest first." },
  ),
  reads: Type.Array(
    object({
      actionRunId: Type.String(),
      actionId: nullable(Type.String()),
      kind: Type.String(),
      tables: Type.Array(Type.String()),
      readAt: instant(),
      loadId: nullable(Type.String({ description: "ID of the load that the run created." })),
      target: nullable(object({ layer: Type.String(), dataset: Type.String() })),
    }),
    { description: "Recent runs that read the dataset, newest first." },
  ),
});
export type Lineage = Static<typeof Lineage>;

import { type Static, Type } from "@sinclair/typebox";
import { instant, jsonObject, object, offsetQuery, optional } from "../../base/shape.ts";
import { LAKE_NAME_PATTERN, MAX_LAKE_NAME_CHARACTERS } from "../../lake/names.ts";

const lakeName = () =>
  Type.String({ minLength: 1, maxLength: MAX_LAKE_NAME_CHARACTERS, pattern: LAKE_NAME_PATTERN });

/** A column as DuckDB sees it. */
export const ColumnShape = object({
  name: Type.String(),
  dataType: Type.String({ description: "DuckDB's name of the type, such as `BIGINT`." }),
  nullable: Type.Boolean(),
});

/** Rows by column name; 64-bit integers beyond 2^53 and decimals are strings, instants ISO 8601. */
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
  q: optional(Type.String({ maxLength: 255, description: "A part of the dataset's name or of a table's." })),
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

export const DatasetPlace = object({ layer: lakeName(), dataset: lakeName() });
export type DatasetPlace = Static<typeof DatasetPlace>;

export const PreviewQuery = object({
  table: optional(
    Type.String({
      minLength: 1,
      maxLength: MAX_LAKE_NAME_CHARACTERS,
      description: "Absent: the table of the dataset's own name, or the only one.",
    }),
  ),
  limit: Type.Integer({ minimum: 1, maximum: 1000, default: 50 }),
});
export type PreviewQuery = Static<typeof PreviewQuery>;

export const Preview = object({ columns: Type.Array(ColumnShape), rows: Rows });

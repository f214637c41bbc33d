import { type Static, Type } from "@sinclair/typebox";
import { nullIsDefault, requestObject } from "../../base/null-shape.ts";
import { anything, defaulted, object, oneOf, optional } from "../../base/shape.ts";
import { SAVE_FORMATS } from "../../sql/contract.ts";
import { ColumnShape, Rows } from "../datasets/wire.ts";

export const QueryRequest = requestObject({
  sql: Type.String({
    minLength: 1,
    maxLength: 100_000,
    description:
      "One SELECT, or several statements of which the last is a SELECT. Tables that they create are dropped afterwards. `raw.orders AS OF 'LOAD_ID'` (or `AS OF $name`) reads a table as of that load, as long as its files are kept.",
  }),
  parameters: defaulted(
    nullIsDefault(
      Type.Record(Type.String(), anything(), {
        default: {},
        description: "Values for `$name` in the SQL.",
      }),
    ),
  ),
  limit: optional(
    Type.Integer({
      minimum: 1,
      maximum: 10_000,
      description: "Maximum number of rows. Default: 1000 in a JSON response, all rows in a file.",
    }),
  ),
});
export type QueryRequest = Static<typeof QueryRequest>;

export const QueryFormat = object({
  format: optional(
    oneOf(["json", ...SAVE_FORMATS], {
      description:
        "Format of the response. Default: that of `Accept`, which can be `text/csv`, `application/x-ndjson`, `application/vnd.apache.parquet` or `application/vnd.openxmlformats-officedocument.spreadsheetml.sheet`, otherwise JSON.",
    }),
  ),
});
export type QueryFormat = Static<typeof QueryFormat>;

export const QueryResult = object({
  columns: Type.Array(ColumnShape),
  rows: Rows,
  rowCount: Type.Integer({ description: "Number of rows in this response." }),
  truncated: Type.Boolean({ description: "Whether the SQL returns more rows." }),
  durationSeconds: Type.Number(),
});
export type QueryResult = Static<typeof QueryResult>;

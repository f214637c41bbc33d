import { type Static, Type } from "@sinclair/typebox";
import { anything, defaulted, object, oneOf, optional } from "../../base/shape.ts";
import { SAVE_FORMATS } from "../../sql/contract.ts";
import { ColumnShape, Rows } from "../datasets/wire.ts";

export const QueryRequest = object({
  sql: Type.String({
    minLength: 1,
    maxLength: 100_000,
    description:
      "One SELECT, or several statements the last of which is a SELECT. Nothing that it makes stays. `raw.orders AS OF 'LOAD_ID'` (or `AS OF $name`) stands for a table as that load left it, for as long as such states are kept.",
  }),
  parameters: defaulted(
    Type.Record(Type.String(), anything(), {
      default: {},
      description: "Values for `$name` in the SQL.",
    }),
  ),
  limit: optional(
    Type.Integer({
      minimum: 1,
      maximum: 10_000,
      description: "Maximum number of rows. Default: 1000 in a JSON reply, all of them in a file.",
    }),
  ),
});
export type QueryRequest = Static<typeof QueryRequest>;

export const QueryFormat = object({
  format: optional(
    oneOf(["json", ...SAVE_FORMATS], {
      description:
        "Absent: what `Accept` asks for, `text/csv`, `application/x-ndjson`, `application/vnd.apache.parquet` or `application/vnd.openxmlformats-officedocument.spreadsheetml.sheet`; else JSON.",
    }),
  ),
});
export type QueryFormat = Static<typeof QueryFormat>;

export const QueryResult = object({
  columns: Type.Array(ColumnShape),
  rows: Rows,
  rowCount: Type.Integer({ description: "How many rows are in this reply." }),
  truncated: Type.Boolean({ description: "True if the SQL returns more rows than these." }),
  durationSeconds: Type.Number(),
});
export type QueryResult = Static<typeof QueryResult>;

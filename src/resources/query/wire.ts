import { type Static, Type } from "@sinclair/typebox";
import { anything, object } from "../../base/shape.ts";
import { ColumnShape, Rows } from "../datasets/wire.ts";

export const QueryRequest = object({
  sql: Type.String({
    minLength: 1,
    maxLength: 100_000,
    description:
      "One SELECT, or several statements the last of which is a SELECT. Nothing that it makes stays.",
  }),
  parameters: Type.Record(Type.String(), anything(), {
    default: {},
    description: "Values for `$name` in the SQL.",
  }),
  limit: Type.Integer({ minimum: 1, maximum: 10_000, default: 1000 }),
});
export type QueryRequest = Static<typeof QueryRequest>;

export const QueryResult = object({
  columns: Type.Array(ColumnShape),
  rows: Rows,
  rowCount: Type.Integer({ description: "How many rows are in this reply." }),
  truncated: Type.Boolean({ description: "True where the SQL gives more rows than these." }),
  durationSeconds: Type.Number(),
});
export type QueryResult = Static<typeof QueryResult>;

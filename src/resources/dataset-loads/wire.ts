import { type Static, Type } from "@sinclair/typebox";
import { described, instant, nullable, object, offsetQuery } from "../../base/shape.ts";

export const LoadQuery = object({ ...offsetQuery(50) });
export type LoadQuery = Static<typeof LoadQuery>;

const DatasetLoad = object({
  loadId: described("For `AS OF` in SQL", Type.String()),
  kind: nullable(
    Type.String({ description: "The kind of the action; `upload`, or `sync` from another organization" }),
  ),
  committedAt: instant(),
  actionRunId: nullable(Type.String()),
  actionId: nullable(Type.String()),
  actionName: nullable(Type.String()),
  automationId: nullable(Type.String()),
  automationName: nullable(Type.String()),
  tables: nullable(
    Type.Array(
      object({
        table: Type.String(),
        rows: described("Rows of the table after the load", Type.Integer()),
        rowsChange: described("Rows more, or fewer, than before", Type.Integer()),
        rowsWritten: described("Rows in the files of the load, rewritten ones included", Type.Integer()),
        bytesWritten: Type.Integer(),
      }),
      { description: "Null for loads of earlier versions" },
    ),
  ),
  isKept: described("Whether `AS OF` can still read the dataset at this load", Type.Boolean()),
});

export const LoadPage = object({
  loads: Type.Array(DatasetLoad),
  hasNext: Type.Boolean(),
  limit: Type.Integer(),
  offset: Type.Integer(),
  total: Type.Integer(),
  freshness: object({
    lastLoadAt: nullable(instant()),
    usualSeconds: described(
      "The median time between the last 20 loads; null with fewer than three loads",
      nullable(Type.Integer()),
    ),
    expectedAt: described("When the next load is due at that pace", nullable(instant())),
    isLate: described("True if the last load is more than twice the usual time ago", Type.Boolean()),
  }),
});
export type LoadPage = Static<typeof LoadPage>;

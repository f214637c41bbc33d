import { type Static, Type } from "@sinclair/typebox";
import { described, instant, nullable, object, offsetQuery } from "../../base/shape.ts";

export const LoadQuery = object({ ...offsetQuery(50) });
export type LoadQuery = Static<typeof LoadQuery>;

const DatasetLoad = object({
  loadId: described("ID of the load, for `AS OF` in SQL", Type.String()),
  kind: nullable(
    Type.String({
      description: "Kind of the action, `upload`, or `sync` for a sync from another organization",
    }),
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
        rows: described("Number of rows in the table after the load", Type.Integer()),
        rowsChange: described("Change in the number of rows. Negative: fewer", Type.Integer()),
        rowsWritten: described(
          "Number of rows that the load wrote, including rewritten ones",
          Type.Integer(),
        ),
        bytesWritten: Type.Integer(),
      }),
      { description: "Tables of the load. Null for loads by earlier versions of Weir" },
    ),
  ),
  isKept: described("Whether `AS OF` can still read the dataset as of this load", Type.Boolean()),
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
      "Median time between the last 20 loads. Null if there are fewer than 3",
      nullable(Type.Integer()),
    ),
    expectedAt: described("When the next load is expected, at that interval", nullable(instant())),
    isLate: described("Whether the last load is more than twice the usual time ago", Type.Boolean()),
  }),
});
export type LoadPage = Static<typeof LoadPage>;

import { type Static, Type } from "@sinclair/typebox";
import { anything, described, object, optional } from "../../base/shape.ts";
import { MAX_LAKE_NAME_CHARACTERS } from "../../lake/names.ts";

export const ProfileQuery = object({
  table: optional(
    Type.String({
      minLength: 1,
      maxLength: MAX_LAKE_NAME_CHARACTERS,
      description: "Table to profile. Default: the one with the dataset's name, or the only one.",
    }),
  ),
});

export const TableProfile = object({
  table: Type.String(),
  rows: Type.Integer(),
  isApproximate: described(
    "Whether distinct values are estimated. True for tables with more than 1,000,000 rows",
    Type.Boolean(),
  ),
  columns: Type.Array(
    object({
      name: Type.String(),
      dataType: Type.String(),
      nulls: Type.Integer(),
      distinct: described("Number of distinct values, without nulls", Type.Integer()),
      min: described("Minimum. Null if there are no values, or if the type has no order", anything()),
      max: anything(),
      isCut: described("Whether `min` or `max` was truncated to 200 characters", Type.Boolean()),
    }),
  ),
  durationSeconds: Type.Number(),
});
export type TableProfile = Static<typeof TableProfile>;

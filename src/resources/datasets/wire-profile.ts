import { type Static, Type } from "@sinclair/typebox";
import { anything, described, object, optional } from "../../base/shape.ts";
import { MAX_LAKE_NAME_CHARACTERS } from "../../lake/names.ts";

export const ProfileQuery = object({
  table: optional(
    Type.String({
      minLength: 1,
      maxLength: MAX_LAKE_NAME_CHARACTERS,
      description: "Default: the table of the dataset's own name, or the only one.",
    }),
  ),
});

export const TableProfile = object({
  table: Type.String(),
  rows: Type.Integer(),
  isApproximate: described(
    "True if distinct values are estimated: in tables of more than a million rows",
    Type.Boolean(),
  ),
  columns: Type.Array(
    object({
      name: Type.String(),
      dataType: Type.String(),
      nulls: Type.Integer(),
      distinct: described("Distinct values, without nulls", Type.Integer()),
      min: described("Null without values, and for types without an order", anything()),
      max: anything(),
      isCut: described("True if `min` or `max` is longer than 200 characters and was cut", Type.Boolean()),
    }),
  ),
  durationSeconds: Type.Number(),
});
export type TableProfile = Static<typeof TableProfile>;

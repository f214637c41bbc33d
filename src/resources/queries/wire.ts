import { type Static, Type } from "@sinclair/typebox";
import { clearable, nullIsDefault, requestObject } from "../../base/null-shape.ts";
import {
  anything,
  defaulted,
  described,
  instant,
  jsonObject,
  named,
  nullable,
  object,
  offsetQuery,
  oneOf,
  optional,
  slug,
  uuid,
} from "../../base/shape.ts";
import { People } from "../users/wire.ts";
import { PARAMETER_TYPES, type SavedQueryRow } from "./table.ts";
import { ChartInput } from "./wire-chart.ts";

const sqlText = () =>
  Type.String({
    minLength: 1,
    maxLength: 100_000,
    description: "SQL as in POST /api/v1/query, with `$name` for each parameter.",
  });

const ParametersInput = Type.Record(
  Type.String(),
  object({
    type: oneOf(PARAMETER_TYPES, { description: "Type of the value" }),
    default: optional(described("The default value. Null: a value is required", anything())),
  }),
  {
    description: "Parameters of the SQL, by name.",
    maxProperties: 50,
    examples: [{ least: { type: "number", default: 100 } }],
  },
);

export const SavedQueryCreate = requestObject({
  name: named(),
  slug: optional(nullable(slug())),
  description: optional(nullable(Type.String({ maxLength: 2048 }))),
  sql: sqlText(),
  parameters: optional(ParametersInput),
  chart: optional(nullable(ChartInput)),
});
export type SavedQueryCreate = Static<typeof SavedQueryCreate>;

export const SavedQueryPatch = object({
  name: optional(named()),
  slug: optional(slug()),
  description: optional(nullable(Type.String({ maxLength: 2048 }))),
  sql: optional(sqlText()),
  parameters: clearable({}, ParametersInput),
  chart: optional(nullable(ChartInput)),
});
export type SavedQueryPatch = Static<typeof SavedQueryPatch>;

export const SavedQuery = object({
  id: uuid(),
  name: Type.String(),
  slug: Type.String(),
  description: nullable(Type.String()),
  sql: Type.String(),
  parameters: Type.Record(Type.String(), object({ type: oneOf(PARAMETER_TYPES), default: anything() })),
  chart: nullable(jsonObject()),
  createdAt: instant(),
  updatedAt: instant(),
  createdBy: nullable(Type.String()),
  updatedBy: nullable(Type.String()),
});

export const SavedQueryQuery = object({
  q: optional(Type.String({ maxLength: 255 })),
  ...offsetQuery(50),
});
export type SavedQueryQuery = Static<typeof SavedQueryQuery>;

export const SavedQueryPage = object({
  queries: Type.Array(SavedQuery),
  hasNext: Type.Boolean(),
  limit: Type.Integer(),
  offset: Type.Integer(),
  total: Type.Integer(),
  users: People,
});

export const SavedQueryRun = requestObject({
  parameters: defaulted(
    nullIsDefault(
      Type.Record(Type.String(), anything(), {
        default: {},
        description: "Values that override the defaults.",
      }),
    ),
  ),
  limit: optional(
    Type.Integer({ minimum: 1, maximum: 10_000, description: "Maximum number of rows. Default: 1000." }),
  ),
});
export type SavedQueryRun = Static<typeof SavedQueryRun>;

export const toSavedQuery = (row: SavedQueryRow): Static<typeof SavedQuery> => ({
  id: row.id,
  name: row.name,
  slug: row.slug,
  description: row.description,
  sql: row.sql,
  parameters: row.parameters,
  chart: row.chart,
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
  createdBy: row.createdBy,
  updatedBy: row.updatedBy,
});

export const exampleSavedQuery: Static<typeof SavedQuery> = {
  id: "01890a5d-ac96-774b-bcce-b302099a8061",
  name: "Orders by day",
  slug: "orders-by-day",
  description: null,
  sql: "SELECT day, count(*) AS orders FROM marts.orders WHERE total >= $least GROUP BY day",
  parameters: { least: { type: "number", default: 100 } },
  chart: { kind: "line", x: "day", y: ["orders"] },
  createdAt: "2026-01-01T00:00:00.000Z",
  updatedAt: "2026-01-01T00:00:00.000Z",
  createdBy: "01890a5d-ac96-774b-bcce-b302099a8062",
  updatedBy: "01890a5d-ac96-774b-bcce-b302099a8062",
};

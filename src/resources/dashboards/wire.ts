import { type Static, Type } from "@sinclair/typebox";
import { clearable, requestObject } from "../../base/null-shape.ts";
import {
  anything,
  described,
  instant,
  jsonObject,
  map,
  named,
  nullable,
  object,
  offsetQuery,
  oneOf,
  optional,
  slug,
  uuid,
} from "../../base/shape.ts";
import { ColumnShape } from "../datasets/wire.ts";
import { ChartInput } from "../queries/wire-chart.ts";
import { People } from "../users/wire.ts";
import { FILTER_TYPES } from "./table.ts";

/** Number of columns of the grid. */
export const COLUMNS = 12;

const key = () =>
  Type.String({
    minLength: 1,
    maxLength: 63,
    pattern: "^[A-Za-z_][A-Za-z0-9_]*$",
    description: "Name in SQL and URLs: letters, digits and _",
  });
const sqlText = () => Type.String({ minLength: 1, maxLength: 100_000 });

export const DashboardFilterInput = object({
  key: key(),
  label: optional(
    Type.String({ minLength: 1, maxLength: 255, description: "Name that people read. Default: the key" }),
  ),
  type: oneOf(FILTER_TYPES, { description: "Type of the value" }),
  default: optional(
    described("The default value; `{from, to}` for a date range. Null: no value", anything()),
  ),
  options: optional(
    nullable(
      Type.Array(Type.Union([Type.String({ maxLength: 255 }), Type.Number()]), {
        maxItems: 1000,
        description: "The values of a choice",
      }),
    ),
  ),
  sql: optional(
    nullable(
      described("For a choice, instead of `options`: SQL whose first column has the values", sqlText()),
    ),
  ),
});

export const DashboardPanelInput = object({
  key: key(),
  title: Type.String({ maxLength: 255 }),
  sql: optional(
    nullable(
      described("One SELECT. Use $KEY for a filter, $KEY_from and $KEY_to for a date range", sqlText()),
    ),
  ),
  queryId: optional(
    nullable(
      described("ID of a saved query, instead of `sql`. Filters set its parameters of the same name", uuid()),
    ),
  ),
  parameters: optional(described("Fixed values for other $names in the SQL", map(anything()))),
  chart: optional(nullable(ChartInput)),
  clickFilters: optional(
    described(
      "By column: the key of the filter that a click on one of its values sets, or null for none. Default: the filter whose key is the column's name",
      map(nullable(key())),
    ),
  ),
  x: optional(
    Type.Integer({ minimum: 0, maximum: COLUMNS - 1, description: "First column of the panel: 0 to 11" }),
  ),
  y: optional(Type.Integer({ minimum: 0, maximum: 10_000, description: "First row of the panel, from 0" })),
  width: optional(
    Type.Integer({ minimum: 1, maximum: COLUMNS, description: "Number of columns. Default: 6" }),
  ),
  height: optional(Type.Integer({ minimum: 1, maximum: 100, description: "Number of rows. Default: 4" })),
});
export type FilterInput = Static<typeof DashboardFilterInput>;
export type PanelInput = Static<typeof DashboardPanelInput>;

const fields = {
  description: optional(nullable(Type.String({ maxLength: 2048 }))),
  filters: clearable(
    [],
    Type.Array(DashboardFilterInput, { maxItems: 30, description: "Filters above the panels" }),
  ),
  panels: clearable(
    [],
    Type.Array(DashboardPanelInput, {
      maxItems: 60,
      description: "Panels without `x` and `y` are placed below the others",
    }),
  ),
  refreshSeconds: optional(
    nullable(
      Type.Integer({
        minimum: 5,
        maximum: 86_400,
        description:
          "How often the page refreshes, and how long results are shared between viewers. Null: no automatic refresh",
      }),
    ),
  ),
  sharing: optional(
    oneOf(["organization", "link"], {
      description:
        "`link`: anyone with the `shareUrl` can view it without signing in. Setting it back to `organization` revokes the link",
    }),
  ),
  shareExpiresAt: optional(
    nullable(described("When the link expires. Null: never. Only with `sharing: link`", instant())),
  ),
};

export const DashboardCreate = requestObject({
  name: optional(described("Name that people read. Required without `fromArtifactId`", named())),
  slug: optional(slug()),
  ...fields,
  fromArtifactId: optional(
    described("ID of a flashboard's artifact to copy the panels from, instead of `panels`", uuid()),
  ),
});
export type DashboardCreate = Static<typeof DashboardCreate>;

export const DashboardPatch = object({ name: optional(named()), slug: optional(slug()), ...fields });
export type DashboardPatch = Static<typeof DashboardPatch>;

export const DashboardFilter = object({
  key: Type.String(),
  label: Type.String(),
  type: oneOf(FILTER_TYPES),
  default: anything(),
  options: nullable(Type.Array(Type.Union([Type.String(), Type.Number()]))),
  sql: nullable(Type.String()),
});

const shown = {
  key: Type.String(),
  title: Type.String(),
  chart: nullable(jsonObject()),
  clickFilters: described("By column: the filter that a click sets", map(nullable(Type.String()))),
  x: Type.Integer(),
  y: Type.Integer(),
  width: Type.Integer(),
  height: Type.Integer(),
};

export const DashboardPanel = object({
  ...shown,
  sql: nullable(Type.String()),
  queryId: nullable(uuid()),
  parameters: jsonObject(),
});

export const Dashboard = object({
  id: uuid(),
  name: Type.String(),
  slug: Type.String(),
  description: nullable(Type.String()),
  filters: Type.Array(DashboardFilter),
  panels: Type.Array(DashboardPanel),
  refreshSeconds: nullable(Type.Integer()),
  sharing: oneOf(["organization", "link"]),
  shareUrl: nullable(
    Type.String({
      description:
        "URL that works without signing in. Null if the dashboard isn't shared by link, and for viewers",
    }),
  ),
  shareExpiresAt: nullable(described("When the link expires", instant())),
  createdAt: instant(),
  updatedAt: instant(),
  createdBy: nullable(Type.String()),
  updatedBy: nullable(Type.String()),
});
export type Dashboard = Static<typeof Dashboard>;

export const DashboardQuery = object({
  q: optional(Type.String({ maxLength: 255 })),
  ...offsetQuery(50),
});
export type DashboardQuery = Static<typeof DashboardQuery>;

export const DashboardPage = object({
  dashboards: Type.Array(Dashboard),
  hasNext: Type.Boolean(),
  limit: Type.Integer(),
  offset: Type.Integer(),
  total: Type.Integer(),
  users: People,
});

/** What anyone with the link can see of a dashboard. */
export const SharedDashboard = object({
  name: Type.String(),
  description: nullable(Type.String()),
  filters: Type.Array(
    object({
      key: Type.String(),
      label: Type.String(),
      type: oneOf(FILTER_TYPES),
      default: anything(),
      options: nullable(Type.Array(Type.Union([Type.String(), Type.Number()]))),
    }),
  ),
  panels: Type.Array(object(shown)),
  refreshSeconds: nullable(Type.Integer()),
});

const Fault = object({ code: Type.String(), message: Type.String() });

export const DashboardData = object({
  filters: described("The filter values used", map(anything())),
  choices: described(
    "The values of each choice that has SQL, by filter key",
    map(object({ values: Type.Array(anything()), error: nullable(Fault) })),
  ),
  panels: described(
    "By panel key",
    map(
      object({
        columns: Type.Array(ColumnShape),
        rows: Type.Array(Type.Array(anything()), {
          description: "The values of each row, in column order",
        }),
        rowCount: Type.Integer(),
        truncated: Type.Boolean({ description: "True if there are more rows" }),
        ranAt: nullable(instant()),
        tookMs: nullable(Type.Integer()),
        error: nullable(Fault),
      }),
    ),
  ),
});
export type DashboardData = Static<typeof DashboardData>;

export const exampleDashboard: Dashboard = {
  id: "01890a5d-ac96-774b-bcce-b302099a8061",
  name: "Orders",
  slug: "orders",
  description: null,
  filters: [{ key: "least", label: "Minimum total", type: "number", default: 100, options: null, sql: null }],
  panels: [
    {
      key: "by_day",
      title: "Orders by day",
      sql: "SELECT day, count(*) AS orders FROM marts.orders WHERE total >= $least GROUP BY day",
      queryId: null,
      parameters: {},
      chart: { kind: "line", x: "day", y: ["orders"] },
      clickFilters: {},
      x: 0,
      y: 0,
      width: 12,
      height: 4,
    },
  ],
  refreshSeconds: 60,
  sharing: "organization",
  shareUrl: null,
  shareExpiresAt: null,
  createdAt: "2026-01-01T00:00:00.000Z",
  updatedAt: "2026-01-01T00:00:00.000Z",
  createdBy: "01890a5d-ac96-774b-bcce-b302099a8062",
  updatedBy: "01890a5d-ac96-774b-bcce-b302099a8062",
};

import { Type } from "@sinclair/typebox";
import { sourceOf } from "../../base/cidr.ts";
import { AppError } from "../../base/errors.ts";
import type { Rate } from "../../base/limit.ts";
import { object, uuid } from "../../base/shape.ts";
import type { App, Context } from "../../context.ts";
import { openOperation, operation, type Visit } from "../../http/operation.ts";
import { usersById } from "../users/people.ts";
import { dashboardFaults, nameFaults } from "./check.ts";
import { dashboardData } from "./data.ts";
import {
  createDashboard,
  deleteDashboard,
  findDashboard,
  listDashboards,
  sharingOf,
  updateDashboard,
} from "./service.ts";
import { findShared, shareUrlOf } from "./share.ts";
import type { DashboardRow } from "./table.ts";
import {
  Dashboard,
  DashboardCreate,
  DashboardData,
  DashboardPage,
  DashboardPatch,
  DashboardQuery,
  exampleDashboard,
  SharedDashboard,
} from "./wire.ts";

const tag = "Dashboards";
const params = object({ dashboard_id: uuid() });
const example = exampleDashboard;
const { name, filters, panels } = exampleDashboard;
const bodyExample = {
  name,
  filters: filters.map(({ key, label, type, default: value }) => ({ key, label, type, default: value })),
  panels: panels.map(({ key, title, sql, chart }) => ({ key, title, sql, chart })),
};
const dataExample = {
  filters: { least: 100 },
  choices: {},
  panels: {
    by_day: {
      columns: [
        { name: "day", dataType: "DATE", nullable: true },
        { name: "orders", dataType: "BIGINT", nullable: true },
      ],
      rows: [["2026-01-01", 42]],
      rowCount: 1,
      truncated: false,
      ranAt: "2026-01-31T09:30:00.000Z",
      tookMs: 21,
      error: null,
    },
  },
};

/** Rate limit for viewers with a link, per address. */
const LINK_RATE: Rate = { perMinute: 120, burst: 60 };

function toDashboard(app: App, { role }: Context, row: DashboardRow): Dashboard {
  const { id, name, slug, description, filters, panels, refreshSeconds } = row;
  const { createdAt, updatedAt, createdBy, updatedBy } = row;
  return {
    id,
    name,
    slug,
    description,
    filters,
    panels: panels.map((panel) => ({ ...panel, clickFilters: panel.clickFilters ?? {} })),
    refreshSeconds,
    sharing: sharingOf(row),
    shareUrl: role === "viewer" ? null : shareUrlOf(app, row),
    shareExpiresAt: row.shareExpiresAt,
    createdAt,
    updatedAt,
    createdBy,
    updatedBy,
  };
}

async function byLink(app: App, visit: Visit, token: string) {
  const { retryAfterSeconds } = app.limiter.take(`dashboard:${sourceOf(visit.address)}`, LINK_RATE);
  if (retryAfterSeconds > 0)
    throw new AppError(
      "rate_limited",
      `Too many requests from this IP address. Try again in ${retryAfterSeconds} seconds.`,
      { retryAfterSeconds },
    );
  return findShared(app, token, visit);
}

export const dashboardOperations = [
  operation({
    method: "GET",
    path: "/api/v1/dashboards",
    audience: "viewer",
    tag,
    summary: "List dashboards",
    query: DashboardQuery,
    response: DashboardPage,
    example: { dashboards: [example], hasNext: false, limit: 50, offset: 0, total: 1, users: {} },
    async handle({ app, ctx, query }) {
      const { rows, total } = await listDashboards(ctx, query);
      const { limit, offset } = query;
      const users = await usersById(
        ctx,
        rows.flatMap((row) => [row.createdBy, row.updatedBy]),
      );
      return {
        dashboards: rows.map((row) => toDashboard(app, ctx, row)),
        hasNext: offset + rows.length < total,
        limit,
        offset,
        total,
        users,
      };
    },
  }),
  operation({
    method: "POST",
    path: "/api/v1/dashboards",
    audience: "member",
    tag,
    summary: "Create a dashboard",
    body: DashboardCreate,
    hasDefinitions: true,
    bodyExample,
    faults: (_, raw) => [...nameFaults(raw), ...dashboardFaults(raw)],
    status: 201,
    response: Dashboard,
    idempotent: "batched-sealed",
    errors: [409, 410],
    example,
    handle: async ({ app, ctx, body }) => toDashboard(app, ctx, await createDashboard(ctx, body)),
  }),
  operation({
    method: "GET",
    path: "/api/v1/dashboards/{dashboard_id}",
    audience: "viewer",
    tag,
    summary: "Get a dashboard",
    params,
    response: Dashboard,
    example,
    handle: async ({ app, ctx, params }) =>
      toDashboard(app, ctx, await findDashboard(ctx, params.dashboard_id)),
  }),
  operation({
    method: "PATCH",
    path: "/api/v1/dashboards/{dashboard_id}",
    audience: "member",
    tag,
    summary: "Update a dashboard",
    description: "`filters` and `panels` are replaced entirely.",
    params,
    body: DashboardPatch,
    hasDefinitions: true,
    bodyExample: { refreshSeconds: 60 },
    faults: (_, raw) => dashboardFaults(raw),
    response: Dashboard,
    errors: [409],
    example,
    handle: async ({ app, ctx, params, body }) =>
      toDashboard(app, ctx, await updateDashboard(ctx, params.dashboard_id, body)),
  }),
  operation({
    method: "DELETE",
    path: "/api/v1/dashboards/{dashboard_id}",
    audience: "member",
    tag,
    summary: "Delete a dashboard",
    params,
    status: 204,
    handle: ({ ctx, params }) => deleteDashboard(ctx, params.dashboard_id),
  }),
  operation({
    method: "GET",
    path: "/api/v1/dashboards/{dashboard_id}/data",
    audience: "viewer",
    tag,
    summary: "Get a dashboard's data",
    description:
      "Pass each filter as a query parameter named by its key, and a date range as `KEY_from` and `KEY_to`. A filter that is absent uses its default; an empty one has no value. Values are bound, never inserted into the SQL text. Each panel has its own rows (at most 1000) or its own `error`. Results are shared: the same SQL with the same values runs once in `refreshSeconds`.",
    params,
    response: DashboardData,
    example: dataExample,
    handle: async ({ ctx, params, visit }) =>
      dashboardData(ctx, await findDashboard(ctx, params.dashboard_id), visit.url.searchParams),
  }),
  openOperation({
    method: "GET",
    path: "/api/v1/shared-dashboards/{token}",
    audience: "public",
    tag,
    summary: "Get a shared dashboard",
    description: "Needs no sign-in: the token comes from the dashboard's `shareUrl`. SQL is not included.",
    params: object({ token: Type.String() }),
    response: SharedDashboard,
    example: {
      name: "Orders",
      description: null,
      filters: [{ key: "least", label: "Minimum total", type: "number", default: 100, options: null }],
      panels: [
        {
          key: "by_day",
          title: "Orders by day",
          chart: { kind: "line", x: "day", y: ["orders"] },
          clickFilters: {},
          x: 0,
          y: 0,
          width: 12,
          height: 4,
        },
      ],
      refreshSeconds: 60,
    },
    errors: [404, 429],
    async handle({ app, params, visit }) {
      const { dashboard } = await byLink(app, visit, params.token);
      const { name, description, refreshSeconds } = dashboard;
      return {
        name,
        description,
        filters: dashboard.filters.map(({ sql: _, ...filter }) => filter),
        panels: dashboard.panels.map(({ sql: _, queryId: __, parameters: ___, ...panel }) => ({
          ...panel,
          clickFilters: panel.clickFilters ?? {},
        })),
        refreshSeconds,
      };
    },
  }),
  openOperation({
    method: "GET",
    path: "/api/v1/shared-dashboards/{token}/data",
    audience: "public",
    tag,
    summary: "Get a shared dashboard's data",
    description:
      "Needs no sign-in. Filters are query parameters, as in `GET /api/v1/dashboards/{dashboard_id}/data`. Results are shared for `refreshSeconds`, at least 30 s.",
    params: object({ token: Type.String() }),
    response: DashboardData,
    errors: [404, 422, 429],
    example: dataExample,
    async handle({ app, params, visit }) {
      const { ctx, dashboard } = await byLink(app, visit, params.token);
      return dashboardData(ctx, dashboard, visit.url.searchParams, { link: true });
    },
  }),
];

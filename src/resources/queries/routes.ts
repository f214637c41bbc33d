import { object, uuid } from "../../base/shape.ts";
import { operation } from "../../http/operation.ts";
import { QueryResult } from "../query/wire.ts";
import { usersById } from "../users/people.ts";
import {
  createQuery,
  deleteQuery,
  findQuery,
  listQueries,
  queryFaults,
  runSavedQuery,
  updateQuery,
} from "./service.ts";
import {
  exampleSavedQuery,
  SavedQuery,
  SavedQueryCreate,
  SavedQueryPage,
  SavedQueryPatch,
  SavedQueryQuery,
  SavedQueryRun,
  toSavedQuery,
} from "./wire.ts";

const tag = "Query";
const params = object({ query_id: uuid() });
const example = exampleSavedQuery;
const { name, sql, parameters, chart } = exampleSavedQuery;

export const savedQueryOperations = [
  operation({
    method: "GET",
    path: "/api/v1/queries",
    audience: "viewer",
    tag,
    summary: "List saved queries",
    query: SavedQueryQuery,
    response: SavedQueryPage,
    example: { queries: [example], hasNext: false, limit: 50, offset: 0, total: 1, users: {} },
    async handle({ ctx, query }) {
      const { rows, total } = await listQueries(ctx, query);
      const { limit, offset } = query;
      const users = await usersById(
        ctx,
        rows.flatMap((row) => [row.createdBy, row.updatedBy]),
      );
      return {
        queries: rows.map(toSavedQuery),
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
    path: "/api/v1/queries",
    audience: "member",
    tag,
    summary: "Create a saved query",
    description: "The SQL is not run. Declare a parameter for each `$name` in it.",
    body: SavedQueryCreate,
    bodyExample: { name, sql, parameters, chart },
    faults: (_, raw) => queryFaults(raw),
    status: 201,
    response: SavedQuery,
    idempotent: true,
    errors: [409],
    example,
    handle: async ({ ctx, body }) => toSavedQuery(await createQuery(ctx, body)),
  }),
  operation({
    method: "GET",
    path: "/api/v1/queries/{query_id}",
    audience: "viewer",
    tag,
    summary: "Get a saved query",
    params,
    response: SavedQuery,
    example,
    handle: async ({ ctx, params }) => toSavedQuery(await findQuery(ctx, params.query_id)),
  }),
  operation({
    method: "PATCH",
    path: "/api/v1/queries/{query_id}",
    audience: "member",
    tag,
    summary: "Update a saved query",
    description: "`parameters` and `chart` are replaced entirely.",
    params,
    body: SavedQueryPatch,
    bodyExample: { description: "Since the first of January" },
    faults: (_, raw) => queryFaults(raw),
    response: SavedQuery,
    errors: [409],
    example,
    handle: async ({ ctx, params, body }) => toSavedQuery(await updateQuery(ctx, params.query_id, body)),
  }),
  operation({
    method: "DELETE",
    path: "/api/v1/queries/{query_id}",
    audience: "member",
    tag,
    summary: "Delete a saved query",
    params,
    status: 204,
    errors: [409],
    handle: ({ ctx, params }) => deleteQuery(ctx, params.query_id),
  }),
  operation({
    method: "POST",
    path: "/api/v1/queries/{query_id}/run",
    audience: "viewer",
    tag,
    summary: "Run a saved query",
    description:
      "Parameters that are not given use their defaults. Values are bound, never inserted into the SQL text. An SQL error returns 422 with DuckDB's message.",
    params,
    body: SavedQueryRun,
    bodyOptional: true,
    bodyExample: { parameters: { least: 500 } },
    response: QueryResult,
    example: {
      columns: [{ name: "orders", dataType: "BIGINT", nullable: true }],
      rows: [{ orders: 42 }],
      rowCount: 1,
      truncated: false,
      durationSeconds: 0.021,
    },
    async handle({ ctx, params, body, visit }) {
      return runSavedQuery(ctx, params.query_id, body, visit.request.signal);
    },
  }),
];

import { operation } from "../../http/operation.ts";
import { runQuery } from "./service.ts";
import { QueryRequest, QueryResult } from "./wire.ts";

export const queryOperations = [
  operation({
    method: "POST",
    path: "/api/v1/query",
    audience: "viewer",
    tag: "Query",
    summary: "Runs SQL over the organization's tables",
    description:
      "Tables are named `layer.dataset__table`, or `layer.dataset` where a table has its dataset's own name. The SQL is DuckDB's; a mistake in it comes back as 422 with DuckDB's message. When the client goes away the SQL is ended.",
    body: QueryRequest,
    response: QueryResult,
    example: {
      columns: [{ name: "orders", dataType: "BIGINT", nullable: true }],
      rows: [{ orders: 42 }],
      rowCount: 1,
      truncated: false,
      durationSeconds: 0.021,
    },
    handle: ({ ctx, body, visit }) => runQuery(ctx, body, visit.request.signal),
  }),
];

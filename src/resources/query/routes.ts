import { operation, Reply } from "../../http/operation.ts";
import type { SaveFormat } from "../../sql/contract.ts";
import { MEDIA_TYPES } from "../../sql/media-types.ts";
import { downloadQuery } from "./download.ts";
import { runQuery } from "./service.ts";
import { QueryFormat, QueryRequest, QueryResult } from "./wire.ts";

export const queryOperations = [
  operation({
    method: "POST",
    path: "/api/v1/query",
    audience: "viewer",
    tag: "Query",
    summary: "Run SQL on the lake",
    description:
      "Tables are named `layer.dataset__table`, or `layer.dataset` if a table has the name of its dataset. The SQL dialect is DuckDB's; errors in it return 422 with DuckDB's message. If the client disconnects, the query is cancelled. A JSON response has at most `limit` rows, and `truncated` says whether there are more. As CSV, JSON Lines, Parquet or a workbook (xlsx), all rows are returned as a file of at most 1 GiB; a line of JSON has the same values as a row of the JSON response. A sheet has at most 1,048,576 rows including its header, and numbers with more digits than a workbook can hold are text.",
    query: QueryFormat,
    body: QueryRequest,
    keepsNumbers: true,
    response: QueryResult,
    alsoProduces: Object.values(MEDIA_TYPES),
    example: {
      columns: [{ name: "orders", dataType: "BIGINT", nullable: true }],
      rows: [{ orders: 42 }],
      rowCount: 1,
      truncated: false,
      durationSeconds: 0.021,
    },
    async handle({ ctx, query, body, visit }) {
      const { headers, signal } = visit.request;
      const format = query.format ?? askedFor(headers.get("accept"));
      if (format === "json") return runQuery(ctx, body, signal);
      visit.keepOpen();
      const stream = await downloadQuery(ctx, body, format, signal);
      return new Reply(200, stream, {
        "content-type": MEDIA_TYPES[format],
        "content-disposition": `attachment; filename="query.${format}"`,
      });
    },
  }),
];

/** Returns the first supported media type in `Accept`. Default: JSON. */
function askedFor(accept: string | null): "json" | SaveFormat {
  for (const part of (accept ?? "").split(",")) {
    const type = part.split(";")[0]?.trim().toLowerCase();
    if (type === "application/json" || type === "*/*") return "json";
    for (const format of Object.keys(MEDIA_TYPES) as SaveFormat[])
      if (type === MEDIA_TYPES[format]) return format;
  }
  return "json";
}

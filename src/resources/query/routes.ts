import { operation, Reply } from "../../http/operation.ts";
import { type DownloadFormat, downloadQuery, MEDIA_TYPES } from "./download.ts";
import { runQuery } from "./service.ts";
import { QueryFormat, QueryRequest, QueryResult } from "./wire.ts";

export const queryOperations = [
  operation({
    method: "POST",
    path: "/api/v1/query",
    audience: "viewer",
    tag: "Query",
    summary: "Runs SQL over the organization's tables",
    description:
      "Tables are named `layer.dataset__table`, or `layer.dataset` where a table has its dataset's own name. The SQL is DuckDB's; a mistake in it comes back as 422 with DuckDB's message. When the client goes away the SQL is ended. As CSV or Parquet all rows come as a file, at most 1 GiB.",
    query: QueryFormat,
    body: QueryRequest,
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

/** The first of the media types in `Accept` that a reply can have; JSON where it names none. */
function askedFor(accept: string | null): "json" | DownloadFormat {
  for (const part of (accept ?? "").split(",")) {
    const type = part.split(";")[0]?.trim().toLowerCase();
    if (type === "application/json" || type === "*/*") return "json";
    if (type === MEDIA_TYPES.csv) return "csv";
    if (type === MEDIA_TYPES.parquet) return "parquet";
  }
  return "json";
}

import { AppError } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import { walkPages } from "../api/pages.ts";
import { rest } from "../api/throttle.ts";
import type { Extraction, ExtractRequest } from "../contract.ts";
import { unpacked } from "../files/compression.ts";
import { QUIET_MS, readChunks, toStream } from "../files/streams.ts";
import { callSeller, SYSTEM } from "./client.ts";
import { FIRST, rowsOf } from "./orders.ts";
import { instantOf, readPeriod } from "./period.ts";
import type { SellerLink } from "./shape.ts";
import { readSheet } from "./sheet.ts";

const PATH = "/reports/2021-06-30";

/** Amazon accepts up to ten report types per request, and keeps reports for 90 days. */
const LISTED_TYPES = [
  "GET_FLAT_FILE_ALL_ORDERS_DATA_BY_LAST_UPDATE_GENERAL",
  "GET_FLAT_FILE_ALL_ORDERS_DATA_BY_ORDER_DATE_GENERAL",
  "GET_MERCHANT_LISTINGS_ALL_DATA",
  "GET_FLAT_FILE_OPEN_LISTINGS_DATA",
  "GET_FBA_MYI_UNSUPPRESSED_INVENTORY_DATA",
  "GET_AFN_INVENTORY_DATA",
  "GET_AMAZON_FULFILLED_SHIPMENTS_DATA_GENERAL",
  "GET_FBA_FULFILLMENT_CUSTOMER_RETURNS_DATA",
  "GET_V2_SETTLEMENT_REPORT_DATA_FLAT_FILE_V2",
  "GET_SALES_AND_TRAFFIC_REPORT",
];
const KEPT_MS = 89 * 86_400_000;

/** A report takes seconds to hours. The pause between status requests grows. */
const FIRST_POLL_MS = 250;
const MAX_POLL_MS = 30_000;

/** A failed report fails again for some time. */
const COOL_DOWN_SECONDS = 1_800;

/** Report type of a spec: `reports/TYPE` or the type alone. Null for other specs. */
export const reportType = (spec: string): string | null =>
  /^(?:reports\/)?(GET_[A-Z0-9_]{3,120})$/.exec(spec)?.[1] ?? null;

/** Existing reports, one row each. */
export const extractReportList = (link: SellerLink, request: ExtractRequest): Extraction => ({
  kind: "rows",
  pages: listPages(link, request),
  ranged: false,
});

async function* listPages(link: SellerLink, request: ExtractRequest): AsyncGenerator<JsonObject[]> {
  const period = readPeriod(link, request, { createdTime: "created" }, KEPT_MS);
  if (period === null) return;
  yield* walkPages<string>({
    system: SYSTEM,
    first: FIRST,
    async read(token) {
      const reply = await callSeller(link, {
        operation: "getReports",
        path: `${PATH}/reports`,
        query:
          token === FIRST
            ? {
                reportTypes: LISTED_TYPES.join(","),
                marketplaceIds: link.config.marketplaceIds.join(","),
                pageSize: "100",
                createdSince: period.from,
                createdUntil: period.to,
              }
            : { nextToken: token },
      });
      const { nextToken } = reply;
      return {
        rows: rowsOf(reply.reports, "reports"),
        next: typeof nextToken === "string" && nextToken !== "" ? nextToken : null,
      };
    },
    keyOf: (row) => `${row.reportId} ${row.processingStatus}`,
    maxRows: request.range ? null : request.maxRows,
    signal: link.signal,
  });
}

/**
 * Requests a report, waits until it is ready, and returns its rows: a table's values as text, because Amazon doesn't
 * state types, or a JSON document unchanged. A cancelled report has no rows and adds a warning. Throws `upstream`.
 */
export async function extractReport(
  link: SellerLink,
  type: string,
  request: ExtractRequest,
): Promise<Extraction> {
  const { range } = request;
  const from = instantOf(range?.from ?? null);
  const period = range ? readPeriod(link, { ...request, spec: type }, { [range.field]: "data" }) : null;
  const made = await callSeller(link, {
    operation: "createReport",
    method: "POST",
    path: `${PATH}/reports`,
    body: {
      reportType: type,
      marketplaceIds: link.config.marketplaceIds,
      ...(from === null || period === null ? {} : { dataStartTime: period.from, dataEndTime: period.to }),
    },
  });
  link.note?.(`Amazon is creating the report ${type}.`);
  const documentId = await awaitReport(link, type, String(made.reportId ?? ""));
  if (documentId === null) {
    link.warn?.(`Amazon cancelled the report ${type}, probably because it has no data. No rows were read.`);
    return { kind: "rows", pages: nothing(), ranged: false };
  }
  const { bytes, charset } = await openDocument(link, type, documentId);
  const { start, rest } = await peek(bytes);
  const first = new TextDecoder("latin1").decode(start).replace(/^ï»¿/, "").trimStart()[0];
  if (first === "<") {
    await rest.return(undefined);
    throw new AppError("definition_invalid", `${type} is XML, which can't be read as a table.`);
  }
  if (first === "{" || first === "[") {
    const file = { name: `${type}.json`, format: "json" as const, open: async () => toStream(rest) };
    return { kind: "files", files: one(file), ranged: false };
  }
  return { kind: "rows", pages: readSheet(type, rest, charset), ranged: false };
}

async function* nothing(): AsyncGenerator<JsonObject[]> {}

async function* one<T>(value: T): AsyncGenerator<T> {
  yield value;
}

/** The document of a finished report; null if it was cancelled. */
async function awaitReport(link: SellerLink, type: string, reportId: string): Promise<string | null> {
  for (let waitMs = FIRST_POLL_MS; ; waitMs = Math.min(waitMs * 2, MAX_POLL_MS)) {
    const report = await callSeller(link, {
      operation: "getReport",
      path: `${PATH}/reports/${encodeURIComponent(reportId)}`,
    });
    switch (report.processingStatus) {
      case "DONE":
        return String(report.reportDocumentId ?? "");
      case "CANCELLED":
        return null;
      case "FATAL":
        throw new AppError(
          "upstream",
          `Amazon couldn't create the report ${type}. Try again in 30 minutes or later.`,
          {
            retryable: true,
            retryAfterSeconds: COOL_DOWN_SECONDS,
            details: { reportId },
          },
        );
    }
    await rest(link, waitMs);
  }
}

async function openDocument(link: SellerLink, type: string, documentId: string) {
  const document = await callSeller(link, {
    operation: "getReportDocument",
    path: `${PATH}/documents/${encodeURIComponent(documentId)}`,
  });
  const { url, compressionAlgorithm } = document;
  if (typeof url !== "string")
    throw new AppError("upstream", `Amazon returned no URL for the report ${type}.`);
  // The URL is signed. The seller's token must not be sent to the file's host.
  const response = await link.egress.fetch(url, { signal: link.signal, timeoutMs: 0, idleMs: QUIET_MS });
  if (response.status !== 200) {
    await response.body.cancel();
    throw new AppError("upstream", `The report ${type} could not be downloaded (${response.status}).`, {
      retryable: true,
    });
  }
  const body = compressionAlgorithm === "GZIP" ? unpacked(response.body, type, "gz") : response.body;
  const charset = /charset=["']?([\w-]+)/i.exec(response.headers.get("content-type") ?? "")?.[1] ?? "utf-8";
  return { bytes: readChunks(body, link.signal), charset };
}

/** The first bytes, which `rest` yields again. */
async function peek(bytes: AsyncGenerator<Uint8Array>) {
  let start = new Uint8Array(0);
  for (let next = await bytes.next(); !next.done; next = await bytes.next()) {
    start = Uint8Array.from(Buffer.concat([start, next.value]));
    if (start.length >= 64) break;
  }
  async function* rest(): AsyncGenerator<Uint8Array> {
    try {
      if (start.length > 0) yield start;
      yield* bytes;
    } finally {
      await bytes.return(undefined);
    }
  }
  return { start, rest: rest() };
}

import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";

type Row = Record<string, unknown>;

export interface SellerAsked {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
  body: Row;
}

/** What is sent instead of an answer. */
type Instead =
  | { status: number; code?: string; message?: string; details?: string; body?: string | Uint8Array }
  | "cut"
  | null;

/** How a report ends, and its content. */
export interface TestReport {
  status: "DONE" | "CANCELLED" | "FATAL";
  content?: string | Uint8Array;
  contentType?: string;
  isGzipped?: boolean;
  /** Number of polls before it ends. */
  looks?: number;
}

export const sellerKeys = {
  clientId: "amzn1.application-oa2-client.1",
  clientSecret: "amzn1.oa2-cs.v1.very-secret",
  refreshToken: "Atzr|refresh",
};

/** The app's ID in Seller Central. */
export const SELLER_APP = "amzn1.sp.solution.3f1c2a9e-0000-4000-8000-000000000001";

const US = "ATVPDKIKX0DER";

/**
 * Amazon's Selling Partner API with Login with Amazon, over a real socket, written from developer-docs.amazon.com:
 * both versions of orders, FBA inventory, reports with their documents, page tokens, a rate limit with its header per
 * operation, roles, and Amazon's errors. Seller Central approves everyone immediately. `await using` ends it.
 */
export async function startSeller() {
  const asked: SellerAsked[] = [];
  const tokens = new Set<string>();
  const codes = new Map<string, string>();
  const state = {
    pageLimit: 100,
    issued: 0,
    isRevoked: false,
    /** Whether the app isn't published. */
    isDraft: false,
    marketplaces: [US],
    /** Operations that the app has no role for, by the beginning of their path. */
    denied: [] as string[],
    mayReadPersons: false,
    /** Incremented to invalidate all page tokens issued so far. */
    epoch: 0,
    /**
     * Number of requests that an operation accepts before it responds with 429 once,
     * and the rate that its header then names.
     */
    burst: Number.POSITIVE_INFINITY,
    rate: 0.5,
    instead: (_asked: SellerAsked): Instead => null,
  };
  const orders: Row[] = [];
  const inventory: Row[] = [];
  const reports = new Map<string, TestReport>();
  const made: { id: string; type: string; looks: number; body: Row }[] = [];
  const used = new Map<string, number>();

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      response.writeHead(500).end(String(error));
    });
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const url = new URL(request.url ?? "/", "http://peer");
    const isJson = request.headers["content-type"] === "application/json";
    const seen: SellerAsked = {
      method: request.method ?? "",
      path: url.pathname,
      query: url.searchParams,
      headers: request.headers,
      body: isJson ? JSON.parse(text) : Object.fromEntries(new URLSearchParams(text)),
    };
    asked.push(seen);
    const instead = state.instead(seen);
    if (instead === "cut") return void request.socket.destroy();
    if (instead) {
      const { status, code = "", message = "", details = "" } = instead;
      return void response.writeHead(status).end(instead.body ?? fault(code, message, details));
    }
    if (seen.path === "/apps/authorize/consent") return consent(response, seen.query);
    if (seen.path === "/auth/o2/token") return reply(response, ...issue(seen.body));
    if (seen.path.startsWith("/document/")) return document(response, seen);
    const operation = seen.path.replace(/\/\d[\d-]*(?=\/orderItems)|(?<=\/(reports|documents)\/)[\w-]+$/, "");
    response.setHeader("x-amzn-RateLimit-Limit", String(state.rate));
    const token = String(request.headers["x-amz-access-token"] ?? "");
    if (!tokens.has(token)) {
      const why = "The access token you provided is revoked, malformed or invalid.";
      return reply(response, 403, fault("Unauthorized", "Access to requested resource is denied.", why));
    }
    if (state.denied.some((path) => seen.path.startsWith(path))) {
      return reply(response, 403, fault("Unauthorized", "Access to requested resource is denied.", ""));
    }
    const count = (used.get(operation) ?? 0) + 1;
    used.set(operation, count > state.burst ? 0 : count);
    if (count > state.burst) {
      return reply(
        response,
        429,
        fault("QuotaExceeded", "You exceeded your quota for the requested resource.", ""),
      );
    }
    reply(response, ...serve(seen));
  }

  /** Accepts only the app's own ID, and `version=beta` for a draft. */
  function consent(response: ServerResponse, query: URLSearchParams): void {
    if (query.get("application_id") !== SELLER_APP || query.has("client_id"))
      return reply(response, 400, fault("MD5101", "The application id is not valid.", ""));
    if (state.isDraft !== (query.get("version") === "beta"))
      return reply(response, 400, fault("MD1000", "The application is not published.", ""));
    const back = new URL(query.get("redirect_uri") ?? "");
    const code = crypto.randomUUID();
    codes.set(code, back.href);
    back.searchParams.set("state", query.get("state") ?? "");
    back.searchParams.set("selling_partner_id", "A3SELLER");
    back.searchParams.set("spapi_oauth_code", code);
    response.writeHead(302, { location: back.href }).end();
  }

  /** Returns whether the form has a code, with its address, or a refresh token. A code is valid once. */
  function isGranted({ grant_type: type, code, redirect_uri: address, refresh_token: token }: Row): boolean {
    if (type === "refresh_token") return token === sellerKeys.refreshToken && !state.isRevoked;
    const expected = codes.get(String(code));
    codes.delete(String(code));
    return type === "authorization_code" && expected !== undefined && expected === address;
  }

  function issue(form: Row): [number, string] {
    if (form.client_id !== sellerKeys.clientId || form.client_secret !== sellerKeys.clientSecret) {
      return [
        401,
        JSON.stringify({ error: "invalid_client", error_description: "Client authentication failed" }),
      ];
    }
    if (!isGranted(form)) {
      return [
        400,
        JSON.stringify({ error: "invalid_grant", error_description: "The request has an invalid grant" }),
      ];
    }
    const token = `Atza|${++state.issued}-${crypto.randomUUID()}`;
    tokens.add(token);
    const given = {
      access_token: token,
      refresh_token: sellerKeys.refreshToken,
      token_type: "bearer",
      expires_in: 3600,
    };
    return [200, JSON.stringify(given)];
  }

  function serve({ method, path, query, body }: SellerAsked): [number, string] {
    if (path === "/sellers/v1/marketplaceParticipations") {
      const payload = state.marketplaces.map((id) => ({
        marketplace: { id, countryCode: "US" },
        participation: { isParticipating: true, hasSuspendedListings: false },
      }));
      return [200, JSON.stringify({ payload })];
    }
    if (path === "/orders/2026-01-01/orders") return searchOrders(query);
    if (path === "/orders/v0/orders") return oldOrders(query);
    const [, orderId] = /^\/orders\/v0\/orders\/([\d-]+)\/orderItems$/.exec(path) ?? [];
    if (orderId !== undefined) return oldItems(orderId, query);
    if (path === "/fba/inventory/v1/summaries") return summaries(query);
    if (path === "/reports/2021-06-30/reports")
      return method === "POST" ? createReport(body) : listReports(query);
    const [, kind, id] = /^\/reports\/2021-06-30\/(reports|documents)\/([\w-]+)$/.exec(path) ?? [];
    const report = made.find((each) => each.id === id?.replace(/^doc-/, ""));
    if (report && kind === "reports") return [200, JSON.stringify(lookAt(report))];
    if (report && kind === "documents") {
      const { isGzipped } = reports.get(report.type) ?? {};
      const url = `${baseUrl}/document/${report.id}?X-Amz-Signature=signed`;
      const more = isGzipped ? { compressionAlgorithm: "GZIP" } : {};
      return [200, JSON.stringify({ reportDocumentId: id, url, ...more })];
    }
    return [404, fault("NotFound", "The specified resource is not found.", "")];
  }

  /** A page of `rows`, in this order. The token is only valid for the same query. */
  function page(
    rows: Row[],
    token: string | null,
    size: number,
  ): { rows: Row[]; next: string | null } | null {
    const [start, epoch] =
      token === null ? [0, state.epoch] : JSON.parse(Buffer.from(token, "base64url").toString());
    if (epoch !== state.epoch) return null;
    const end = start + Math.min(size, state.pageLimit);
    const next = end < rows.length ? Buffer.from(JSON.stringify([end, epoch])).toString("base64url") : null;
    return { rows: rows.slice(start, end), next };
  }

  const badToken = (): [number, string] => [400, fault("InvalidInput", "The page token is not valid.", "")];

  const within = (value: unknown, from: string | null, to: string | null) =>
    Date.parse(String(value)) >= Date.parse(from ?? "0001-01-01") &&
    Date.parse(String(value)) <= Date.parse(to ?? "9999-12-31");

  function searchOrders(query: URLSearchParams): [number, string] {
    const [created, updated] = [query.get("createdAfter"), query.get("lastUpdatedAfter")];
    if ((created === null) === (updated === null) || !query.get("marketplaceIds")) {
      return [
        400,
        fault("InvalidInput", "Exactly one of createdAfter and lastUpdatedAfter must be provided.", ""),
      ];
    }
    const included = (query.get("includedData") ?? "").split(",");
    const wantsPersons = included.includes("BUYER") || included.includes("RECIPIENT");
    if (wantsPersons && !state.mayReadPersons)
      return [403, fault("Unauthorized", "Access to requested resource is denied.", "")];
    const found = orders.filter((order) =>
      created === null
        ? within(order.lastUpdatedTime, updated, query.get("lastUpdatedBefore"))
        : within(order.createdTime, created, query.get("createdBefore")),
    );
    const given = page(found, query.get("paginationToken"), Number(query.get("maxResultsPerPage") ?? 50));
    if (!given) return badToken();
    const shown = given.rows.map(({ buyer, recipient, ...rest }) =>
      wantsPersons ? { ...rest, buyer, recipient } : rest,
    );
    const pagination = given.next === null ? {} : { pagination: { nextToken: given.next } };
    return [200, JSON.stringify({ orders: shown, ...pagination })];
  }

  function oldOrders(query: URLSearchParams): [number, string] {
    const token = query.get("NextToken");
    if (token === null && !query.get("LastUpdatedAfter") && !query.get("CreatedAfter")) {
      return [400, fault("InvalidInput", "CreatedAfter or LastUpdatedAfter is needed.", "")];
    }
    const found = orders
      .filter(
        (order) =>
          token !== null ||
          within(order.lastUpdatedTime, query.get("LastUpdatedAfter"), query.get("LastUpdatedBefore")),
      )
      .map((order) => ({
        AmazonOrderId: order.orderId,
        LastUpdateDate: order.lastUpdatedTime,
        PurchaseDate: order.createdTime,
      }));
    const given = page(found, token, Number(query.get("MaxResultsPerPage") ?? 100));
    if (!given) return badToken();
    return [
      200,
      JSON.stringify({
        payload: { Orders: given.rows, ...(given.next === null ? {} : { NextToken: given.next }) },
      }),
    ];
  }

  function oldItems(orderId: string, query: URLSearchParams): [number, string] {
    const items = (orders.find((order) => order.orderId === orderId)?.orderItems ?? []) as Row[];
    const rows = items.map(({ orderItemId, quantityOrdered }) => ({
      OrderItemId: orderItemId,
      QuantityOrdered: quantityOrdered,
    }));
    const given = page(rows, query.get("NextToken"), 100);
    if (!given) return badToken();
    const next = given.next === null ? {} : { NextToken: given.next };
    return [200, JSON.stringify({ payload: { AmazonOrderId: orderId, OrderItems: given.rows, ...next } })];
  }

  function summaries(query: URLSearchParams): [number, string] {
    const given = page(
      inventory.filter(
        (row) =>
          row.marketplace === query.get("granularityId") &&
          within(row.lastUpdatedTime, query.get("startDateTime"), null),
      ),
      query.get("nextToken"),
      50,
    );
    if (!given) return badToken();
    const inventorySummaries = given.rows.map(({ marketplace, ...row }) => row);
    const pagination = given.next === null ? {} : { pagination: { nextToken: given.next } };
    return [200, JSON.stringify({ payload: { granularity: {}, inventorySummaries }, ...pagination })];
  }

  function createReport(body: Row): [number, string] {
    const type = String(body.reportType);
    if (!reports.has(type)) return [400, fault("InvalidInput", `${type} is no report type.`, "")];
    const id = `${5_000 + made.length}`;
    made.push({ id, type, looks: 0, body });
    return [202, JSON.stringify({ reportId: id })];
  }

  function lookAt(report: (typeof made)[number]): Row {
    const { status = "DONE", looks = 2 } = reports.get(report.type) ?? {};
    const isOver = ++report.looks > looks;
    return {
      reportId: report.id,
      reportType: report.type,
      createdTime: "2026-05-31T00:00:00+00:00",
      processingStatus: isOver ? status : report.looks > 1 ? "IN_PROGRESS" : "IN_QUEUE",
      ...(isOver && status === "DONE" ? { reportDocumentId: `doc-${report.id}` } : {}),
    };
  }

  function listReports(query: URLSearchParams): [number, string] {
    const token = query.get("nextToken");
    if ((token === null) === (query.get("reportTypes") === null) || (token !== null && query.size > 1)) {
      return [
        400,
        fault("InvalidInput", "Either reportTypes or nextToken, and no other parameter beside it.", ""),
      ];
    }
    const given = page(made.map(lookAt), token, 10);
    if (!given) return badToken();
    return [
      200,
      JSON.stringify({ reports: given.rows, ...(given.next === null ? {} : { nextToken: given.next }) }),
    ];
  }

  /** Another system stores documents; a seller's token would leak to it. */
  function document(response: ServerResponse, { path, headers }: SellerAsked): void {
    if (headers["x-amz-access-token"] || headers.authorization)
      return void response.writeHead(400).end("Credentials");
    const report = reports.get(made.find(({ id }) => path.endsWith(`/${id}`))?.type ?? "");
    const content = report?.content ?? "";
    response.writeHead(200, { "content-type": report?.contentType ?? "text/plain; charset=UTF-8" });
    response.end(report?.isGzipped ? gzipSync(content) : content);
  }

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    baseUrl,
    state,
    asked,
    orders,
    inventory,
    reports,
    made,
    config: { region: "na", marketplaceIds: [US], baseUrl, tokenUrl: `${baseUrl}/auth/o2/token` },
    /** Invalidates all tokens issued so far. */
    expireTokens: () => tokens.clear(),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

const fault = (code: string, message: string, details: string): string =>
  JSON.stringify({ errors: [{ code, message, details }] });

function reply(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { "content-type": "application/json" }).end(body);
}

/** Order `n`, changed `n` minutes into May 2026, with this many items. */
export const sellerOrder = (n: number, items = 1, more: Row = {}): Row => ({
  orderId: `111-0000000-${String(n).padStart(7, "0")}`,
  createdTime: at(n),
  lastUpdatedTime: at(n),
  salesChannel: { marketplaceId: US, channelName: "AMAZON" },
  fulfillment: { fulfillmentStatus: "SHIPPED" },
  buyer: { buyerName: `Person ${n}` },
  recipient: { deliveryAddress: { city: "Graz" } },
  orderItems: Array.from({ length: items }, (_, index) => ({
    orderItemId: `${n}${index}`,
    quantityOrdered: index + 1,
    product: { asin: `B0${n}`, sellerSku: `00${n}` },
  })),
  ...more,
});

const at = (n: number) => `${new Date(Date.UTC(2026, 4, 1) + n * 60_000).toISOString().slice(0, 19)}Z`;

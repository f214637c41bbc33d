import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Order {
  id: number;
  updated_at: string;
  [field: string]: unknown;
}

type Instead =
  | { status: number; headers?: Record<string, string>; body?: string | Buffer }
  | "cut"
  | "cut in the middle"
  | "silence";

export interface Asked {
  method: string;
  /** Relative to `/v1/`. */
  path: string;
  /** A path segment that contains a key. */
  segment: string | null;
  parameters: URLSearchParams;
  headers: IncomingMessage["headers"];
  body: string;
}

/** Credentials that the API accepts, in each of the usual ways. */
export const SECRETS = {
  token: "tok-0123456789abcdef",
  username: "ada",
  password: "pass-0123456789abcdef",
  apiKey: "key-0123456789abcdef",
  segment: "0123:456/789 abcdef",
  clientId: "client-1",
  clientSecret: "secret-0123456789abcdef",
};

const MAX_SIZE = 100;
const DEFAULT_SIZE = 20;

/**
 * A typical REST API over a real socket: one list of orders, by date of change, in each of the usual ways to page,
 * with a filter by that date, limits, and all ways to send credentials. `await using` ends it.
 *
 *     /v1/orders          all of them, as a list
 *     /v1/linked          by cursor, the next page in the Link header
 *     /v1/addressed       {items, links: {next}}
 *     /v1/cursors         {data: {orders}, meta: {next_cursor, has_more, total}}; per_page, cursor
 *     /v1/pages           {results, count}; page, per_page; 404 beyond one empty page after the last
 *     /v1/offsets         {rows, total}; offset, limit
 *     /v1/search          POST of {first, filter: {since}, variables: {after}}, responses as in GraphQL
 *     /oauth/token        client credentials
 */
export async function startJsonApi() {
  const state = {
    /** Maximum page size, whatever is requested. */
    maxSize: MAX_SIZE,
    /** Requests until the limit is reached. */
    left: Number.POSITIVE_INFINITY,
    /** Number of requests that an OAuth token is valid for, and its lifetime in seconds as stated. */
    tokenUses: Number.POSITIVE_INFINITY,
    tokenSeconds: 3600,
    /** Base URL of links to next pages. */
    linkBase: "",
    instead: (_asked: Asked): Instead | null => null,
    afterPage: (_asked: Asked): void => undefined,
  };
  const orders: Order[] = [];
  const asked: Asked[] = [];
  const uses = new Map<string, number>();
  let tokens = 0;

  function isKnown({ headers, parameters, segment }: Asked): boolean {
    if (segment === "key-0123:456%2F789%20abcdef") return true;
    const given = headers.authorization ?? "";
    const basic = Buffer.from(`${SECRETS.username}:${SECRETS.password}`).toString("base64");
    if (given === `Bearer ${SECRETS.token}` || given === `Basic ${basic}`) return true;
    if (headers["x-api-key"] === SECRETS.apiKey || parameters.get("api_key") === SECRETS.apiKey) return true;
    const token = given.replace("Bearer ", "");
    const used = uses.get(token);
    if (used === undefined || used >= state.tokenUses) return false;
    uses.set(token, used + 1);
    return true;
  }

  const instantOf = (text: string): number =>
    /^\d+$/.test(text) ? Number(text) * (text.length > 11 ? 1 : 1000) : Date.parse(text);

  const matching = (since: string | null, before: string | null): Order[] =>
    orders
      .filter(({ updated_at }) => {
        const at = Date.parse(updated_at);
        return (since === null || at >= instantOf(since)) && (before === null || at < instantOf(before));
      })
      .toSorted((a, b) => Date.parse(a.updated_at) - Date.parse(b.updated_at) || a.id - b.id);

  /** One page after `after`, an opaque cursor, and the next cursor. */
  function slice(all: Order[], after: string | null, size: number) {
    const [at = "", id = ""] = after === null ? [] : Buffer.from(after, "base64url").toString().split(" ");
    const isBehind = (order: Order) =>
      order.updated_at > at || (order.updated_at === at && order.id > Number(id));
    const rest = after === null ? all : all.filter(isBehind);
    const items = rest.slice(0, size);
    const last = items.at(-1);
    const hasMore = rest.length > size && last !== undefined;
    const next = hasMore ? Buffer.from(`${last.updated_at} ${last.id}`).toString("base64url") : null;
    return { items, next };
  }

  type Answer = { status?: number; headers?: Record<string, string>; value: unknown };

  function answer({ method, path, parameters, body }: Asked): Answer {
    const sizeOf = (given: string | null) => Math.min(Number(given ?? DEFAULT_SIZE), state.maxSize);
    const all = matching(parameters.get("updated_since"), parameters.get("updated_before"));
    const linkTo = (cursor: string) => {
      const url = new URL(`${state.linkBase || origin}/v1/${path}`);
      for (const [name, value] of parameters) if (name !== "api_key") url.searchParams.set(name, value);
      url.searchParams.set("cursor", cursor);
      return url.href;
    };
    switch (path) {
      case "me":
        return { value: { name: "A shop" } };
      case "orders":
        return { value: all };
      case "linked": {
        const { items, next } = slice(all, parameters.get("cursor"), sizeOf(parameters.get("per_page")));
        const first = `<${origin}/v1/linked>; rel="first"`;
        const link = next === null ? first : `${first}, <${linkTo(next)}>; rel="next"`;
        return { value: items, headers: { link } };
      }
      case "addressed": {
        const { items, next } = slice(all, parameters.get("cursor"), sizeOf(parameters.get("per_page")));
        return { value: { items, links: { next: next === null ? null : linkTo(next) } } };
      }
      case "cursors": {
        const { items, next } = slice(all, parameters.get("cursor"), sizeOf(parameters.get("per_page")));
        const meta = { next_cursor: next, has_more: next !== null, total: all.length };
        return { value: { data: { orders: items }, meta } };
      }
      case "pages": {
        const [page, size] = [Number(parameters.get("page") ?? 1), sizeOf(parameters.get("per_page"))];
        if (page > Math.ceil(all.length / size) + 1)
          return { status: 404, value: { detail: "Invalid page." } };
        return { value: { results: all.slice((page - 1) * size, page * size), count: all.length } };
      }
      case "offsets": {
        const [offset, size] = [Number(parameters.get("offset") ?? 0), sizeOf(parameters.get("limit"))];
        return { value: { rows: all.slice(offset, offset + size), total: all.length } };
      }
      case "search": {
        if (method !== "POST") return { status: 405, value: { error: { message: "POST it." } } };
        const { first, filter = {}, variables = {} } = JSON.parse(body);
        const found = matching(filter.since ?? null, null);
        const { items, next } = slice(found, variables.after ?? null, sizeOf(first ?? null));
        return {
          value: {
            data: { orders: { nodes: items, pageInfo: { hasNextPage: next !== null, endCursor: next } } },
          },
        };
      }
      default:
        return { status: 404, value: { error: { code: "not_found", message: `There is no ${path}.` } } };
    }
  }

  function issue(seen: Asked): Answer {
    const pair = Buffer.from(`${SECRETS.clientId}:${SECRETS.clientSecret}`).toString("base64");
    if (seen.headers.authorization !== `Basic ${pair}`)
      return { status: 401, value: { error: "invalid_client" } };
    const token = `granted-${++tokens}-0123456789`;
    uses.set(token, 0);
    return { value: { access_token: token, token_type: "Bearer", expires_in: state.tokenSeconds } };
  }

  const server = createServer((incoming, outgoing) => {
    void handle(incoming, outgoing).catch((error: unknown) => {
      outgoing.writeHead(500).end(String(error));
    });
  });

  async function handle(incoming: IncomingMessage, outgoing: ServerResponse) {
    const url = new URL(incoming.url ?? "/", "http://peer");
    const parts: Buffer[] = [];
    for await (const part of incoming) parts.push(part as Buffer);
    const seen: Asked = {
      method: incoming.method ?? "",
      path: url.pathname.replace(/^\/v1\/(key-[^/]*\/)?/, ""),
      segment: /^\/v1\/(key-[^/]*)\//.exec(url.pathname)?.[1] ?? null,
      parameters: url.searchParams,
      headers: incoming.headers,
      body: Buffer.concat(parts).toString(),
    };
    const reply = ({ status = 200, headers = {}, value }: Answer) => {
      outgoing.writeHead(status, { "content-type": "application/json", ...headers });
      outgoing.end(JSON.stringify(value));
    };
    if (url.pathname === "/oauth/token") return reply(issue(seen));
    asked.push(seen);
    if (!isKnown(seen)) return reply({ status: 401, value: { error: "unauthorized" } });
    const instead = state.instead(seen);
    if (instead === "silence") return;
    if (instead === "cut") return void outgoing.destroy();
    if (instead === "cut in the middle") {
      outgoing.writeHead(200, { "content-type": "application/json", "content-length": "1000" });
      outgoing.write('[{"id":1,');
      return void setTimeout(() => outgoing.destroy(), 5);
    }
    if (instead) {
      outgoing.writeHead(instead.status, { "content-type": "application/json", ...instead.headers });
      return void outgoing.end(instead.body ?? "{}");
    }
    if (state.left-- <= 0) {
      return reply({
        status: 429,
        value: { message: "Too many requests." },
        headers: { "retry-after": "7" },
      });
    }
    reply(answer(seen));
    state.afterPage(seen);
  }

  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  const origin = `http://127.0.0.1:${port}`;
  return {
    origin,
    baseUrl: `${origin}/v1`,
    tokenUrl: `${origin}/oauth/token`,
    state,
    orders,
    /** All requests except those for tokens. */
    asked,
    of: (path: string) => asked.filter((each) => each.path === path),
    tokens: () => tokens,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

export type TestJsonApi = Awaited<ReturnType<typeof startJsonApi>>;

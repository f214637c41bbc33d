import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import {
  execute,
  type FieldNode,
  GraphQLError as GraphError,
  type GraphQLError,
  type GraphQLResolveInfo,
  parse,
  type SelectionSetNode,
  validate,
} from "graphql";
import { openBulk } from "./shopify-bulk.ts";
import { shopifySchema } from "./shopify-schema.ts";

type Thing = Record<string, unknown> & { id: string };

interface Options {
  shop?: string;
  token?: string;
  scopes?: string[];
  /** Points: the maximum, and how many are restored per second. */
  points?: { maximum: number; restoreRate: number };
  maxQueryCost?: number;
}

/**
 * What is sent instead of a response: another response, a closed connection, or silence until the client disconnects.
 */
type Instead = { status: number; headers?: Record<string, string>; body?: string } | "cut" | "silence";

export interface Asked {
  query: string;
  variables: Record<string, unknown>;
  /** The name of the query, such as `orders`. */
  name: string;
}

/** An app of the Dev Dashboard, by the client credentials grant. */
export const shopApp = { clientId: "0123456789abcdef0123456789abcdef", clientSecret: "shpss_very-secret" };

const ALL_SCOPES = ["read_orders", "read_all_orders", "read_customers", "read_products", "read_inventory"];
const SCOPES: Record<string, string> = {
  orders: "read_orders",
  customers: "read_customers",
  customer: "read_customers",
  products: "read_products",
  product: "read_products",
  variant: "read_products",
  inventoryItems: "read_inventory",
  locations: "read_locations",
};

/**
 * A shop's GraphQL Admin API over a real socket, written from shopify.dev: scopes, connections with opaque cursors,
 * searches by date and ID, points with a leaky bucket and the cost of one query, GraphQL errors. `await using` ends it.
 */
export async function startShopify(options: Options = {}) {
  const { shop = "acme.myshopify.com", token = "shpat_0123456789abcdef", maxQueryCost = 1_000 } = options;
  const state = {
    scopes: options.scopes ?? [...ALL_SCOPES, "read_locations"],
    points: options.points ?? { maximum: 100_000, restoreRate: 100_000 },
    /** Incremented to invalidate all cursors issued so far. */
    epoch: 0,
    /** Whether the first item of a page is the last one of the previous page. */
    isRepeating: false,
    /** Number of nulls among each page's objects. */
    nulls: 0,
    /** Fields that this version doesn't have, as `Type.field`. */
    without: new Set<string>(),
    headers: {} as Record<string, string>,
    now: () => Date.now(),
    /** Called before each response. */
    instead: (_asked: Asked): Instead | null => null,
    /** Called after each page, so that the shop can change in the meantime. */
    afterPage: (_asked: Asked): void => undefined,
  };
  const store: Record<string, Thing[]> = {
    orders: [],
    customers: [],
    products: [],
    inventoryItems: [],
    locations: [],
  };
  /** Tokens of the app, with their expiry. */
  const tokens = new Map<string, number>();
  const bulk = openBulk(() => baseUrl, runBulk);
  const asked: Asked[] = [];
  let baseUrl = "";
  let available = state.points.maximum;
  let at = performance.now();

  const resolve = (source: unknown, args: Record<string, unknown>, _: unknown, info: GraphQLResolveInfo) => {
    const { fieldName: name, returnType } = info;
    const scope = SCOPES[name];
    if (scope && !state.scopes.includes(scope)) {
      throw new GraphError(`Access denied for ${name} field. Required access: \`${scope}\` access scope.`, {
        extensions: {
          code: "ACCESS_DENIED",
          documentation: "https://shopify.dev/api/usage/access-scopes",
          requiredAccess: `\`${scope}\` access scope.`,
        },
      });
    }
    if (name === "node" && /BulkOperation/.test(String(args.id))) return bulk.find(String(args.id));
    if (name === "node" && "id" in args) return find(store, String(args.id));
    if (name === "currentBulkOperation") return bulk.current();
    if (name === "bulkOperationRunQuery") return bulk.begin(String(args.query), args.groupObjects === true);
    const value = (source as Record<string, unknown>)[name];
    if (String(returnType).replace("!", "").endsWith("Connection")) {
      if (info.operation.name?.value === "bulk") return whole((value ?? []) as Thing[], args, info);
      return page((value ?? []) as Thing[], args, info.path.prev === undefined);
    }
    if (Array.isArray(value) && typeof args.first === "number") return value.slice(0, args.first);
    return value ?? null;
  };

  /** A complete connection, as in a bulk operation, without pages. */
  function whole(all: Thing[], args: Record<string, unknown>, info: GraphQLResolveInfo) {
    const isRoot = info.path.prev === undefined;
    const found = isRoot ? all.filter((thing) => matches(thing, String(args.query ?? ""))) : all;
    return { edges: found.map((node) => ({ node, cursor: "" })) };
  }

  /** The data of a bulk operation's query, within the token's scopes. */
  async function runBulk(query: string) {
    const document = parse(`query bulk ${query}`);
    const faults = validate(shopifySchema, document).map(({ message }) => message);
    if (faults.length > 0) return { refused: faults[0] ?? "" };
    return execute({
      schema: shopifySchema,
      document,
      rootValue: store,
      fieldResolver: resolve,
    });
  }

  /** One page of a connection; at the root with searches, repetitions and nulls. */
  function page(all: Thing[], args: Record<string, unknown>, isRoot: boolean) {
    const first = Number(args.first ?? 50);
    if (first > 250) throw new GraphError("first exceeds the maximum of 250");
    const field = isRoot ? SORTS[String(args.sortKey ?? "ID")] : undefined;
    const matching = isRoot ? all.filter((thing) => matches(thing, String(args.query ?? ""))) : [...all];
    const keyOf = (thing: Thing) => [String(field ? (thing[field] ?? "") : ""), number(thing.id)] as const;
    if (isRoot) matching.sort((a, b) => compare(keyOf(a), keyOf(b)));
    let start = 0;
    if (typeof args.after === "string") {
      const cursor = JSON.parse(Buffer.from(args.after, "base64").toString());
      if (cursor.epoch !== state.epoch) throw new GraphError("Invalid cursor for current pagination sort.");
      start = isRoot
        ? matching.filter((thing) => compare(keyOf(thing), cursor.key) <= 0).length
        : matching.findIndex(({ id }) => id === cursor.id) + 1;
      if (isRoot && state.isRepeating) start = Math.max(0, start - 1);
    }
    const items = matching.slice(start, start + first);
    const cursorOf = (thing: Thing) =>
      Buffer.from(JSON.stringify({ epoch: state.epoch, key: keyOf(thing), id: thing.id })).toString("base64");
    const last = items.at(-1);
    const nulls = isRoot ? Array.from({ length: state.nulls }, () => null) : [];
    return {
      nodes: [...nulls, ...items],
      edges: [...nulls, ...items.map((node) => ({ node, cursor: cursorOf(node) }))],
      pageInfo: { hasNextPage: start + first < matching.length, endCursor: last ? cursorOf(last) : null },
    };
  }

  async function answer(body: { query: string; variables?: Record<string, unknown> }): Promise<unknown> {
    const document = parse(body.query);
    const unknown = validate(shopifySchema, document)
      .map(toUndefined)
      .concat(missing(body.query, state.without));
    if (unknown.length > 0) return { errors: unknown };
    const requested = costOf(document, body.variables ?? {});
    const { maximum, restoreRate } = state.points;
    const now = performance.now();
    available = Math.min(maximum, available + ((now - at) / 1000) * restoreRate);
    at = now;
    const cost = (actual: number | null) => ({
      cost: {
        requestedQueryCost: requested,
        actualQueryCost: actual,
        throttleStatus: {
          maximumAvailable: maximum,
          currentlyAvailable: Math.floor(available),
          restoreRate,
        },
      },
    });
    if (requested > maxQueryCost) {
      const message = `Query cost is ${requested}, which exceeds the single query max cost limit (${maxQueryCost}).`;
      const extensions = { code: "MAX_COST_EXCEEDED", cost: requested, maxCost: maxQueryCost };
      return { errors: [{ message, extensions }] };
    }
    if (requested > available) {
      return {
        errors: [{ message: "Throttled", extensions: { code: "THROTTLED" } }],
        extensions: cost(null),
      };
    }
    available -= requested;
    const result = await execute({
      schema: shopifySchema,
      document,
      rootValue: {
        ...store,
        bulkOperationRunQuery: null,
        shop: { name: "Acme", myshopifyDomain: shop, plan: { displayName: "Basic" } },
        currentAppInstallation: { accessScopes: state.scopes.map((handle) => ({ handle })) },
      },
      variableValues: body.variables ?? {},
      fieldResolver: resolve,
      typeResolver: (value) => /shopify\/(\w+)/.exec((value as Thing).id)?.[1],
    });
    return { ...result, extensions: cost(requested) };
  }

  const server = createServer((incoming, outgoing) => {
    void handle(incoming, outgoing).catch((error: unknown) => {
      outgoing.writeHead(500).end(String(error));
    });
  });

  async function handle(incoming: IncomingMessage, outgoing: ServerResponse) {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const reply = (status: number, value: unknown, headers: Record<string, string> = {}) => {
      outgoing.writeHead(status, { "content-type": "application/json", ...headers });
      outgoing.end(JSON.stringify(value));
    };
    if (incoming.url?.startsWith("/bulk/")) return bulk.download(incoming, outgoing);
    if (incoming.url === "/admin/oauth/access_token") {
      const form = new URLSearchParams(Buffer.concat(chunks).toString());
      const { clientId, clientSecret } = shopApp;
      const isApp = form.get("client_id") === clientId && form.get("client_secret") === clientSecret;
      if (form.get("grant_type") !== "client_credentials" || !isApp)
        return reply(400, { error: "application_cannot_be_found", error_description: "No." });
      const issued = `shpat_${crypto.randomUUID()}`;
      tokens.set(issued, state.now() + 86_399_000);
      return reply(200, { access_token: issued, scope: state.scopes.join(","), expires_in: 86_399 });
    }
    const version = /^\/admin\/api\/([^/]+)\/graphql\.json$/.exec(incoming.url ?? "")?.[1];
    if (version === undefined || incoming.method !== "POST") return reply(404, { errors: "Not Found" });
    const sent = String(incoming.headers["x-shopify-access-token"]);
    if (sent !== token && !((tokens.get(sent) ?? 0) > state.now())) {
      const message = "[API] Invalid API key or access token (unrecognized login or wrong password)";
      return reply(401, { errors: message });
    }
    const body = JSON.parse(Buffer.concat(chunks).toString());
    const seen: Asked = {
      query: body.query,
      variables: body.variables ?? {},
      name: /^\s*(?:query|mutation)\s+(\w+)/.exec(body.query)?.[1] ?? "",
    };
    asked.push(seen);
    const instead = state.instead(seen);
    if (instead === "cut") return void outgoing.destroy();
    if (instead === "silence") return;
    if (instead) {
      outgoing.writeHead(instead.status, { "content-type": "application/json", ...instead.headers });
      return void outgoing.end(instead.body ?? "{}");
    }
    bulk.version = version;
    reply(200, await answer(body), { "x-shopify-api-version": version, ...state.headers });
    state.afterPage(seen);
  }

  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  baseUrl = `http://127.0.0.1:${port}`;
  return {
    baseUrl,
    bulk,
    shop,
    token,
    state,
    store,
    /** Number of tokens issued to the app. */
    issued: () => tokens.size,
    /** Every query with the right token. */
    asked,
    of: (name: string) => asked.filter((each) => each.name === name),
    /** Sets the bucket: available points, the maximum, and the restore rate. */
    setPoints(points: { maximum: number; restoreRate: number; available?: number }) {
      state.points = points;
      available = points.available ?? points.maximum;
      at = performance.now();
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

export type TestShopify = Awaited<ReturnType<typeof startShopify>>;

const SORTS: Record<string, string | undefined> = {
  UPDATED_AT: "updatedAt",
  CREATED_AT: "createdAt",
  PROCESSED_AT: "processedAt",
  PUBLISHED_AT: "publishedAt",
  NAME: "name",
};

const number = (gid: string): number => Number(/(\d+)$/.exec(gid)?.[1] ?? 0);

function compare(a: readonly [string, number], b: readonly [string, number]): number {
  if (a[0] !== b[0]) return a[0] < b[0] ? -1 : 1;
  return a[1] - b[1];
}

/** Shopify's search syntax, of which `field:>=value` with AND is used here. */
function matches(thing: Thing, search: string): boolean {
  return search
    .split(" AND ")
    .filter((term) => term !== "")
    .every((term) => {
      const [, field = "", operator, value = ""] = /^(\w+):(>=|<=|>|<)'?([^']*)'?$/.exec(term) ?? [];
      const name = field.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
      if (operator === undefined || !(name in thing)) throw new GraphError(`Invalid search field: ${term}`);
      const mine = name === "id" ? number(thing.id) : Date.parse(String(thing[name]));
      const theirs = name === "id" ? Number(value) : Date.parse(value);
      if (Number.isNaN(theirs)) throw new GraphError(`Invalid search value: ${term}`);
      return operator === ">="
        ? mine >= theirs
        : operator === "<"
          ? mine < theirs
          : operator === ">"
            ? mine > theirs
            : mine <= theirs;
    });
}

/** Finds the object with this ID, at any depth. */
function find(value: unknown, id: string): Thing | null {
  if (typeof value !== "object" || value === null) return null;
  if ((value as Thing).id === id && Object.keys(value).length > 1) return value as Thing;
  for (const item of Object.values(value)) {
    const found = find(item, id);
    if (found) return found;
  }
  return null;
}

function toUndefined({ message, nodes }: GraphQLError) {
  const [, fieldName, typeName] = /Cannot query field "(\w+)" on type "(\w+)"/.exec(message) ?? [];
  if (!fieldName) return { message, extensions: { code: "argumentNotAccepted", nodes: nodes?.length ?? 0 } };
  return undefinedField(typeName ?? "", fieldName);
}

const undefinedField = (typeName: string, fieldName: string) => ({
  message: `Field '${fieldName}' doesn't exist on type '${typeName}'`,
  path: ["query", fieldName],
  extensions: { code: "undefinedField", typeName, fieldName },
});

const missing = (query: string, without: ReadonlySet<string>) =>
  [...without].flatMap((name) => {
    const [type = "", field = ""] = name.split(".");
    return new RegExp(`\\b${field}\\b`).test(query) ? [undefinedField(type, field)] : [];
  });

/** One point for an object, two for a connection and its items for each; scalars are free. */
function costOf(document: ReturnType<typeof parse>, variables: Record<string, unknown>): number {
  const count = (node: FieldNode): number => {
    const first = node.arguments?.find(({ name }) => name.value === "first")?.value;
    if (first?.kind === "IntValue") return Number(first.value);
    return first?.kind === "Variable" ? Number(variables[first.name.value] ?? 1) : 1;
  };
  const of = (selections: SelectionSetNode | undefined): number =>
    (selections?.selections ?? []).reduce((sum, node) => {
      if (node.kind === "InlineFragment") return sum + of(node.selectionSet);
      if (node.kind !== "Field" || !node.selectionSet) return sum;
      if (/^(nodes|edges|pageInfo|shopMoney|presentmentMoney)$/.test(node.name.value)) {
        return sum + of(node.selectionSet);
      }
      return sum + count(node) * Math.max(1, of(node.selectionSet));
    }, 0);
  return document.definitions.reduce(
    (sum, each) => sum + (each.kind === "OperationDefinition" ? of(each.selectionSet) : 0),
    1,
  );
}

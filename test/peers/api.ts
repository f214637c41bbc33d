/** A small HTTP API that records its requests, and describes itself if a test needs it. */
export function startApi(places: Record<string, (request: Request) => Response | Promise<Response>> = {}) {
  const heard: {
    method: string;
    path: string;
    query: string;
    headers: Record<string, string>;
    body: string;
  }[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const url = new URL(request.url);
      const body = await request.clone().text();
      const headers = Object.fromEntries(request.headers);
      heard.push({ method: request.method, path: url.pathname, query: url.search, headers, body });
      const place = places[url.pathname] ?? places["*"];
      return place ? place(request) : new Response("nothing here", { status: 404 });
    },
  });
  return { url: `http://127.0.0.1:${server.port}`, heard, places, stop: () => server.stop(true) };
}

export const json = (value: unknown) => () => Response.json(value as object);

/** A description of a shop's API: references, a circular one, and each kind of input. */
export const SHOP = {
  openapi: "3.1.0",
  info: { title: "Shop", version: "1" },
  servers: [{ url: "/v1" }],
  security: [{ key: [] }],
  paths: {
    "/orders": {
      parameters: [{ name: "X-Trace", in: "header", schema: { type: "string" } }],
      get: {
        operationId: "list orders!",
        summary: "Lists orders.",
        parameters: [
          { name: "limit", in: "query", schema: { type: "integer", minimum: 1, maximum: 100 } },
          { name: "filter[status]", in: "query", schema: { type: "array", items: { type: "string" } } },
          { name: "ids", in: "query", explode: false, schema: { type: "array", items: { type: "integer" } } },
          { name: "range", in: "query", style: "deepObject", schema: { type: "object" } },
          { $ref: "#/components/parameters/Page" },
        ],
        responses: {},
      },
      post: {
        operationId: "createOrder",
        requestBody: {
          required: true,
          content: { "application/json": { schema: { $ref: "#/components/schemas/Order" } } },
        },
        responses: {},
      },
    },
    "/orders/{id}": {
      get: { responses: {}, parameters: [{ name: "id", in: "query", schema: { type: "string" } }] },
      put: {
        operationId: "list orders!",
        requestBody: {
          content: {
            "application/json": { schema: { type: "array", items: { $ref: "#/components/schemas/Node" } } },
          },
        },
        responses: {},
      },
    },
    "/broken": {
      get: { operationId: "broken", parameters: [{ $ref: "#/components/parameters/Gone" }], responses: {} },
    },
  },
  components: {
    parameters: {
      Page: { name: "page", in: "query", required: true, schema: { type: "integer", nullable: true } },
    },
    schemas: {
      Order: {
        type: "object",
        required: ["item", "id"],
        properties: {
          id: { type: "string", readOnly: true },
          item: { type: "string", pattern: "^[a-z]+$" },
          size: { type: "integer", exclusiveMinimum: 0 },
          tree: { $ref: "#/components/schemas/Node" },
        },
      },
      Node: {
        type: "object",
        properties: {
          name: { type: "string" },
          children: { type: "array", items: { $ref: "#/components/schemas/Node" } },
        },
      },
    },
    securitySchemes: {
      key: { type: "apiKey", in: "header", name: "X-API-Key", description: "A key of the shop" },
    },
  },
};

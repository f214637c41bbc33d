import { type Static, Type } from "@sinclair/typebox";
import { headerFault } from "../../base/http-message.ts";
import { jmespathFault } from "../../base/jmespath.ts";
import { isObject } from "../../base/json.ts";
import { described, jsonObject, map, object, oneOf, optional } from "../../base/shape.ts";
import { isUncountable } from "./list.ts";

const TYPE = "Pagination method";

const path = (description: string) => Type.String({ minLength: 1, maxLength: 2000, description });
const parameter = (description: string, options = {}) =>
  Type.String({ minLength: 1, maxLength: 255, description, ...options });
const count = (minimum: number, description: string, options = {}) =>
  Type.Integer({ minimum, maximum: 2 ** 40, description, ...options });

export const DEFAULT_MAX_PAGES = 100_000;

const parameterIn = (what: string) =>
  optional(
    oneOf(["query", "body"], {
      description: `Whether ${what} are sent in the query or in the body. In a body, a dot names a nested field, as in variables.after`,
      "x-default": "query",
    }),
  );

const sized = {
  sizeParam: optional(parameter("Parameter for the page size")),
  pageSize: optional(count(1, "Number of rows per page. Default: batchSize", { maximum: 1_000_000 })),
  in: parameterIn("the paginator's parameters"),
};
const more = {
  hasNextPath: optional(path("JMESPath expression for a value that is null, false or 0 on the last page")),
};
const counted = {
  ...more,
  stopOnShortPage: optional(
    Type.Boolean({
      description:
        "Whether a page with fewer than pageSize rows is the last one. Otherwise only an empty page is",
    }),
  ),
  stopOnStatus: optional(
    Type.Array(Type.Integer({ minimum: 400, maximum: 499 }), {
      minItems: 1,
      maxItems: 20,
      description: "Status codes that mean the end of the list, after the first page, such as 404",
    }),
  ),
};

const Paginator = Type.Union(
  [
    object(
      { type: Type.Literal("none", { description: TYPE }) },
      { description: "The response has all rows" },
    ),
    object(
      { type: Type.Literal("link_header", { description: TYPE }), ...sized },
      { description: "The Link header has the URL of the next page" },
    ),
    object(
      {
        type: Type.Literal("json_link", { description: TYPE }),
        nextPath: path("JMESPath expression for the URL of the next page. Null or empty on the last page"),
        ...more,
        ...sized,
      },
      { description: "The response body has the URL of the next page" },
    ),
    object(
      {
        type: Type.Literal("cursor", { description: TYPE }),
        cursorPath: path(
          "JMESPath expression for the cursor of the next page. Null or empty on the last page",
        ),
        cursorParam: parameter("Parameter for the cursor"),
        ...more,
        ...sized,
      },
      { description: "The response body has a cursor for the next page" },
    ),
    object(
      {
        type: Type.Literal("page", { description: TYPE }),
        pageParam: optional(parameter("Parameter for the page number", { "x-default": "page" })),
        startPage: optional(count(0, "Number of the first page", { "x-default": 1 })),
        ...counted,
        ...sized,
      },
      { description: "Pages are numbered. An empty page is the last one" },
    ),
    object(
      {
        type: Type.Literal("offset", { description: TYPE }),
        offsetParam: optional(
          parameter("Parameter for the number of rows to skip", { "x-default": "offset" }),
        ),
        startOffset: optional(count(0, "Number of rows to skip on the first page", { "x-default": 0 })),
        ...counted,
        ...sized,
      },
      { description: "Pages start at a row number. An empty page is the last one" },
    ),
  ],
  { description: "How to request the next page. If omitted, only one page is read" },
);
export type Paginator = Static<typeof Paginator>;

export const CURSOR_FORMATS = ["as_is", "iso", "date", "epoch_s", "epoch_ms"] as const;

const scalar = Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()]);

/** How to request one resource of an HTTP API. Its path is the resource's `spec`. */
export const Endpoint = object(
  {
    method: optional(
      oneOf(["GET", "POST"], {
        description: "HTTP method. A POST must only read, since it is resent if it fails",
        "x-default": "GET",
      }),
    ),
    params: optional(
      described(
        "Query parameters. A list repeats the parameter",
        map(Type.Union([scalar, Type.Array(scalar)])),
      ),
    ),
    headers: optional(described("Headers of each request. They can't contain credentials", map(scalar))),
    body: optional(jsonObject({ description: "Body of a POST" })),
    bodyType: optional(oneOf(["json", "form"], { description: "Encoding of the body", "x-default": "json" })),
    dataPath: optional(
      path(
        "JMESPath expression for the rows in the response. If omitted, the response must be a list of rows. If it finds nothing, the run fails.",
      ),
    ),
    totalPath: optional(
      path(
        "JMESPath expression for the API's own count of all rows. It is compared with the number of rows read",
      ),
    ),
    paginator: optional(Paginator),
    incremental: optional(
      object(
        {
          startParam: parameter(
            "Parameter for the start value. Rows at exactly this value may be returned again. If the API returns only later rows, set lagSeconds to 1.",
          ),
          endParam: optional(parameter("Parameter for the end value of a backfill")),
          format: optional(
            oneOf(CURSOR_FORMATS, {
              description: "Format of the value. as_is is the API's own format",
              "x-default": "as_is",
            }),
          ),
          in: parameterIn("these parameters"),
        },
        {
          description:
            "How to request only new rows. If omitted, everything is read, and rows that were loaded before are left out",
        },
      ),
    ),
    maxPages: optional(
      count(1, "Maximum number of pages. If there are more, the run fails", {
        maximum: 10_000_000,
        "x-default": DEFAULT_MAX_PAGES,
      }),
    ),
    requestsPerMinute: optional(
      Type.Number({
        exclusiveMinimum: 0,
        maximum: 60_000,
        description:
          "Maximum number of requests per minute for this resource, across all runs of the connection",
      }),
    ),
  },
  { description: "How to request the path in spec. Only for connections to an HTTP API" },
);
export type Endpoint = Static<typeof Endpoint>;

interface PathFault {
  path: string[];
  message: string;
}

/** Unknown until the run. */
const isOpen = (value: unknown): boolean => typeof value === "string" && value.includes("{{");

/** Why `spec` isn't a path relative to a base URL; null if it is. */
export function specFault(spec: string): string | null {
  if (isOpen(spec)) return null;
  if (!spec.startsWith("/") || spec.startsWith("//"))
    return "The spec of a resource of an HTTP API must be a path relative to the connection's base URL, such as /orders.";
  if (/[?#]/.test(spec)) return "The path must not contain parameters. Put them in endpoint.params.";
  return /(?:^|[/\\])(?:\.|%2e){1,2}(?:[/\\]|$)|[\s\\]/i.test(spec)
    ? "The path can't contain spaces, backslashes, or the segments . and .."
    : null;
}

/** Errors that the shape can't express. Paths are relative to the endpoint. Templates are accepted as values. */
export function endpointFaults(endpoint: Endpoint, isIncremental: boolean): PathFault[] {
  if (!isObject(endpoint)) return [];
  const faults: PathFault[] = [];
  const { method = "GET", headers, body, bodyType, paginator, incremental, params } = endpoint;
  const say = (path: string[], message: string) => faults.push({ path, message });
  for (const [name, value] of Object.entries(isObject(headers) ? headers : {})) {
    const message = headerFault(name, value);
    if (message) say(["headers", name], message);
  }
  const isGet = method === "GET";
  if (isGet && body !== undefined) say(["body"], "A GET request has no body. Set method to POST.");
  else if (bodyType !== undefined && body === undefined) say(["bodyType"], "The request has no body.");
  faults.push(...expressionFaults(endpoint, ["dataPath", "totalPath"], []));
  const taken = new Map<string, string>();
  const take = (path: string[], name: string | undefined, where: "query" | "body" = "query") => {
    if (name === undefined || isOpen(name)) return;
    if (where === "body" && isGet) say(path, "A GET request has no body. Set method to POST.");
    const other = taken.get(`${where} ${name}`);
    if (other !== undefined) say(path, `The parameter ${name} is already used by ${other}.`);
    taken.set(`${where} ${name}`, path.join("."));
  };
  if (isObject(paginator)) {
    faults.push(...expressionFaults(paginator, ["nextPath", "cursorPath", "hasNextPath"], ["paginator"]));
    faults.push(...sizeFaults(paginator as Paginator), ...endFaults(paginator as Paginator));
    const isCounted = paginator.type === "page" || paginator.type === "offset";
    if (
      isCounted &&
      typeof endpoint.dataPath === "string" &&
      !isOpen(endpoint.dataPath) &&
      isUncountable(endpoint.dataPath)
    )
      say(
        ["dataPath"],
        "Pages are counted by their items, which this dataPath doesn't show. Start it with the list.",
      );
    for (const field of ["cursorParam", "pageParam", "offsetParam", "sizeParam"])
      take(["paginator", field], counterOf(paginator as Paginator, field), locationOf(paginator));
  }
  if (isObject(incremental)) {
    if (!isIncremental) say(["incremental"], "Requires the resource's own incremental.cursorField.");
    for (const field of ["startParam", "endParam"] as const)
      take(["incremental", field], incremental[field], locationOf(incremental));
  }
  for (const name of Object.keys(isObject(params) ? params : {})) {
    const by = taken.get(`query ${name}`);
    if (by !== undefined) say(["params", name], `${by} sets this parameter.`);
  }
  return faults;
}

/** Status codes about the credentials or a temporary failure, not about the list. */
const NO_END = [401, 408, 425, 429];

const endFaults = (paginator: Paginator): PathFault[] =>
  ("stopOnStatus" in paginator && Array.isArray(paginator.stopOnStatus)
    ? paginator.stopOnStatus
    : []
  ).flatMap((status, at) =>
    NO_END.includes(status)
      ? [
          {
            path: ["paginator", "stopOnStatus", String(at)],
            message: `${status} can't mark the end of a list.`,
          },
        ]
      : [],
  );

const locationOf = (part: object): "query" | "body" =>
  "in" in part && part.in === "body" ? "body" : "query";

/** The parameter set in a paginator's field, or its default. */
export function counterOf(paginator: Paginator, field: string): string | undefined {
  const value = (paginator as Record<string, unknown>)[field];
  if (typeof value === "string") return value;
  if (field === "pageParam" && paginator.type === "page") return "page";
  return field === "offsetParam" && paginator.type === "offset" ? "offset" : undefined;
}

function expressionFaults(holder: object, fields: readonly string[], at: string[]): PathFault[] {
  return fields.flatMap((field) => {
    const value = (holder as Record<string, unknown>)[field];
    const message = typeof value === "string" && !isOpen(value) ? jmespathFault(value) : null;
    return message ? [{ path: [...at, field], message }] : [];
  });
}

function sizeFaults(paginator: Paginator): PathFault[] {
  if (paginator.type === "none") return [];
  const { sizeParam, pageSize } = paginator;
  const isShort = "stopOnShortPage" in paginator && paginator.stopOnShortPage === true;
  const faults: PathFault[] = [];
  if (isShort && pageSize === undefined)
    faults.push({
      path: ["paginator", "pageSize"],
      message: "stopOnShortPage requires pageSize.",
    });
  if (pageSize !== undefined && sizeParam === undefined && !isShort)
    faults.push({
      path: ["paginator", "sizeParam"],
      message: "pageSize requires this parameter.",
    });
  return faults;
}

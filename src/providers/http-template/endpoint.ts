import { type Static, Type } from "@sinclair/typebox";
import { headerFault } from "../../base/http-message.ts";
import { jmespathFault } from "../../base/jmespath.ts";
import { isObject } from "../../base/json.ts";
import { described, jsonObject, map, object, oneOf, optional } from "../../base/shape.ts";
import { isUncountable } from "./list.ts";

const TYPE = "Which of them it is";

const path = (description: string) => Type.String({ minLength: 1, maxLength: 2000, description });
const parameter = (description: string, options = {}) =>
  Type.String({ minLength: 1, maxLength: 255, description, ...options });
const count = (minimum: number, description: string, options = {}) =>
  Type.Integer({ minimum, maximum: 2 ** 40, description, ...options });

export const DEFAULT_MAX_PAGES = 100_000;

const parameterIn = (what: string) =>
  optional(
    oneOf(["query", "body"], {
      description: `Where ${what} stand; in a body a dot leads into an object, as in variables.after`,
      "x-default": "query",
    }),
  );

const sized = {
  sizeParam: optional(parameter("Parameter for the size of a page")),
  pageSize: optional(count(1, "Its value; batchSize by default", { maximum: 1_000_000 })),
  in: parameterIn("the parameters of the paginator"),
};
const more = {
  hasNextPath: optional(
    path("JMESPath to a value that says that there are more pages; nothing, false or 0 ends"),
  ),
};
const counted = {
  ...more,
  stopOnShortPage: optional(
    Type.Boolean({ description: "End after a page of less than pageSize rows, not only after an empty one" }),
  ),
  stopOnStatus: optional(
    Type.Array(Type.Integer({ minimum: 400, maximum: 499 }), {
      minItems: 1,
      maxItems: 20,
      description: "Statuses that end the list after its first page, such as 404",
    }),
  ),
};

const Paginator = Type.Union(
  [
    object({ type: Type.Literal("none", { description: TYPE }) }, { description: "All rows come at once" }),
    object(
      { type: Type.Literal("link_header", { description: TYPE }), ...sized },
      { description: "The Link header leads to the next page" },
    ),
    object(
      {
        type: Type.Literal("json_link", { description: TYPE }),
        nextPath: path("JMESPath to the address of the next page; null or empty ends"),
        ...more,
        ...sized,
      },
      { description: "The reply holds the next page's address" },
    ),
    object(
      {
        type: Type.Literal("cursor", { description: TYPE }),
        cursorPath: path("JMESPath to the cursor of the next page; null or empty ends"),
        cursorParam: parameter("Parameter that the cursor goes into"),
        ...more,
        ...sized,
      },
      { description: "The reply holds what the next page is asked for with" },
    ),
    object(
      {
        type: Type.Literal("page", { description: TYPE }),
        pageParam: optional(parameter("Parameter for the number of the page", { "x-default": "page" })),
        startPage: optional(count(0, "Number of the first page", { "x-default": 1 })),
        ...counted,
        ...sized,
      },
      { description: "Pages have numbers; an empty one ends" },
    ),
    object(
      {
        type: Type.Literal("offset", { description: TYPE }),
        offsetParam: optional(
          parameter("Parameter for the number of rows to pass over", { "x-default": "offset" }),
        ),
        startOffset: optional(count(0, "Rows to pass over at first", { "x-default": 0 })),
        ...counted,
        ...sized,
      },
      { description: "Rows are counted; an empty page ends" },
    ),
  ],
  { description: "How one page leads to the next; without it there is one page" },
);
export type Paginator = Static<typeof Paginator>;

export const CURSOR_FORMATS = ["as_is", "iso", "date", "epoch_s", "epoch_ms"] as const;

const scalar = Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()]);

/** How one resource of an HTTP API is asked for; its path is the resource's `spec`. */
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
        "Parameters of the address; a list stands for one repeated",
        map(Type.Union([scalar, Type.Array(scalar)])),
      ),
    ),
    headers: optional(described("Headers of each request; no credentials", map(scalar))),
    body: optional(jsonObject({ description: "Of a POST" })),
    bodyType: optional(oneOf(["json", "form"], { description: "How the body is sent", "x-default": "json" })),
    dataPath: optional(
      path(
        "JMESPath to the rows of a reply; without it the reply is itself their list. Where it finds nothing the run fails.",
      ),
    ),
    totalPath: optional(
      path("JMESPath to the API's own count of all rows, which is compared with those that came"),
    ),
    paginator: optional(Paginator),
    incremental: optional(
      object(
        {
          startParam: parameter(
            "Parameter for where reading begins. The API may give rows at that value again; where it gives only later ones, set lagSeconds to 1.",
          ),
          endParam: optional(parameter("Parameter for where a backfill ends")),
          format: optional(
            oneOf(CURSOR_FORMATS, {
              description: "How the value is written; as_is is as the API gave it",
              "x-default": "as_is",
            }),
          ),
          in: parameterIn("these parameters"),
        },
        {
          description:
            "How the API is asked for what is new; without it all is read and what is known is left out",
        },
      ),
    ),
    maxPages: optional(
      count(1, "More pages fail the run, as a list without end", {
        maximum: 10_000_000,
        "x-default": DEFAULT_MAX_PAGES,
      }),
    ),
    requestsPerMinute: optional(
      Type.Number({
        exclusiveMinimum: 0,
        maximum: 60_000,
        description: "Maximum number for this resource, across all runs of the connection",
      }),
    ),
  },
  { description: "How the path in spec is asked for; only for connections of an HTTP connection template" },
);
export type Endpoint = Static<typeof Endpoint>;

interface PathFault {
  path: string[];
  message: string;
}

/** Not known before the run. */
const isOpen = (value: unknown): boolean => typeof value === "string" && value.includes("{{");

/** Why `spec` is no path below a base address; null where it is one. */
export function specFault(spec: string): string | null {
  if (isOpen(spec)) return null;
  if (!spec.startsWith("/") || spec.startsWith("//"))
    return "The spec of a resource of an HTTP API is a path below the connection's base address, such as /orders.";
  if (/[?#]/.test(spec)) return "The path must not contain parameters. Put them in endpoint.params.";
  return /(?:^|[/\\])(?:\.|%2e){1,2}(?:[/\\]|$)|[\s\\]/i.test(spec)
    ? "The path can't hold spaces, backslashes, or parts that are . or .."
    : null;
}

/** Faults that the shape can't say; paths are relative to the endpoint. Values that are templates pass. */
export function endpointFaults(endpoint: Endpoint, isIncremental: boolean): PathFault[] {
  if (!isObject(endpoint)) return [];
  const faults: PathFault[] = [];
  const { method = "GET", headers, body, bodyType, paginator, incremental, params } = endpoint;
  const say = (path: string[], message: string) => faults.push({ path, message });
  for (const name of Object.keys(isObject(headers) ? headers : {})) {
    const message = headerFault(name);
    if (message) say(["headers", name], message);
  }
  const isGet = method === "GET";
  if (isGet && body !== undefined) say(["body"], "A GET request has no body; give the method POST.");
  else if (bodyType !== undefined && body === undefined) say(["bodyType"], "There is no body that is sent.");
  faults.push(...expressionFaults(endpoint, ["dataPath", "totalPath"], []));
  const taken = new Map<string, string>();
  const take = (path: string[], name: string | undefined, where: "query" | "body" = "query") => {
    if (name === undefined || isOpen(name)) return;
    if (where === "body" && isGet) say(path, "A GET request has no body; give the method POST.");
    const other = taken.get(`${where} ${name}`);
    if (other !== undefined) say(path, `The parameter ${name} is that of ${other} already.`);
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
        "Pages are counted by their items, which this dataPath does not tell: begin it with the list.",
      );
    for (const field of ["cursorParam", "pageParam", "offsetParam", "sizeParam"])
      take(["paginator", field], counterOf(paginator as Paginator, field), locationOf(paginator));
  }
  if (isObject(incremental)) {
    if (!isIncremental)
      say(["incremental"], "There is nothing to ask for without the resource's own incremental.cursorField.");
    for (const field of ["startParam", "endParam"] as const)
      take(["incremental", field], incremental[field], locationOf(incremental));
  }
  for (const name of Object.keys(isObject(params) ? params : {})) {
    const by = taken.get(`query ${name}`);
    if (by !== undefined) say(["params", name], `${by} sets this parameter.`);
  }
  return faults;
}

/** Statuses that say something of the credentials or of the moment, and nothing of the list. */
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
            message: `${status} is not a valid end of a list.`,
          },
        ]
      : [],
  );

const locationOf = (part: object): "query" | "body" =>
  "in" in part && part.in === "body" ? "body" : "query";

/** The parameter that a paginator's field names, or by default has. */
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
      message: "What a short page is, which stopOnShortPage asks for, only pageSize tells.",
    });
  if (pageSize !== undefined && sizeParam === undefined && !isShort)
    faults.push({
      path: ["paginator", "sizeParam"],
      message: "pageSize goes into the parameter named here.",
    });
  return faults;
}

import { type Static, Type } from "@sinclair/typebox";
import { AppError } from "../../base/errors.ts";
import type { Reply } from "../../base/http-message.ts";
import { nextLink } from "../../base/http-message.ts";
import { jmespathFault } from "../../base/jmespath.ts";
import { isObject, type Json } from "../../base/json.ts";
import { maskSecrets } from "../../base/mask.ts";
import { object, oneOf } from "../../base/shape.ts";
import type { NextPage, NextPageWork } from "./result.ts";

const TYPE = "Pagination method";

const DEFAULT_MAX_PAGES = 100;

const path = (description: string) => Type.String({ minLength: 1, maxLength: 4096, description });
const parameter = (description: string, options = {}) =>
  Type.String({ minLength: 1, maxLength: 255, description, ...options });
const count = (minimum: number, description: string, options = {}) =>
  Type.Integer({ minimum, maximum: 2 ** 40, description, ...options });

const common = {
  itemsPath: Type.Optional(
    path("JMESPath expression for the items of a page. The items of all pages are `extracted`"),
  ),
  maxPages: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 10_000,
      description: "Maximum number of pages",
      "x-default": DEFAULT_MAX_PAGES,
    }),
  ),
};
const sized = {
  sizeParam: Type.Optional(parameter("Query parameter for the page size")),
  pageSize: Type.Optional(count(1, "Number of items per page, sent as sizeParam")),
  hasNextPath: Type.Optional(
    path(
      "JMESPath expression that is true if there are more pages. If omitted, an empty page is the last one",
    ),
  ),
};

/** How one page leads to the next. */
export const Pagination = Type.Union([
  object({ type: Type.Literal("link_header", { description: TYPE }), ...common }),
  object({
    type: Type.Literal("cursor", { description: TYPE }),
    cursorPath: path("JMESPath expression for the cursor of the next page. Null or empty on the last page"),
    cursorParam: Type.Optional(
      parameter("Parameter for the cursor. If omitted, the cursor is the URL of the next page"),
    ),
    cursorIn: Type.Optional(
      oneOf(["query", "body"], {
        description: "Whether the cursor is sent as a query parameter or in the JSON body",
        "x-default": "query",
      }),
    ),
    ...common,
  }),
  object({
    type: Type.Literal("page", { description: TYPE }),
    pageParam: Type.Optional(parameter("Query parameter for the page number", { "x-default": "page" })),
    startPage: Type.Optional(count(0, "Number of the first page", { "x-default": 1 })),
    ...sized,
    ...common,
  }),
  object({
    type: Type.Literal("offset", { description: TYPE }),
    offsetParam: Type.Optional(parameter("Query parameter for the number of items to skip. Default: offset")),
    startOffset: Type.Optional(count(0, "Number of items to skip on the first page", { "x-default": 0 })),
    ...sized,
    ...common,
  }),
]);
export type Pagination = Static<typeof Pagination>;

/** The parts of a request that differ between pages. */
export interface PageRequest {
  url: URL;
  body: Json | undefined;
}

export const maxPagesOf = (pagination: Pagination) => pagination.maxPages ?? DEFAULT_MAX_PAGES;

/** Errors in the expressions of a pagination, by field. */
export function pagingFaults(pagination: Pagination): { path: string[]; message: string }[] {
  return Object.entries(pagination).flatMap(([field, value]) => {
    if (!field.endsWith("Path") || typeof value !== "string" || value.includes("{{")) return [];
    const message = jmespathFault(value);
    return message ? [{ path: [field], message }] : [];
  });
}

export function firstPage(pagination: Pagination, request: PageRequest): PageRequest {
  if (pagination.type !== "page" && pagination.type !== "offset") return request;
  const url = new URL(request.url);
  if (pagination.type === "page")
    url.searchParams.set(counter(pagination), String(pagination.startPage ?? 1));
  else url.searchParams.set(counter(pagination), String(pagination.startOffset ?? 0));
  if (pagination.sizeParam && pagination.pageSize) {
    url.searchParams.set(pagination.sizeParam, String(pagination.pageSize));
  }
  return { ...request, url };
}

const counter = (pagination: Extract<Pagination, { type: "page" | "offset" }>) =>
  pagination.type === "page" ? (pagination.pageParam ?? "page") : (pagination.offsetParam ?? "offset");

/** Returns the paths to the next page's values. Null if pages don't have to be read for that. */
export function pathsOf(pagination: Pagination): Omit<NextPageWork, "page" | "secrets"> | null {
  if (pagination.type === "link_header") return null;
  const { itemsPath = null } = pagination;
  if (pagination.type === "cursor")
    return { itemsPath: null, cursorPath: pagination.cursorPath, hasNextPath: null };
  return { itemsPath, cursorPath: null, hasNextPath: pagination.hasNextPath ?? null };
}

/** Returns the next request, based on the result of `lookOf`. Null after the last page. */
export function nextPage(
  pagination: Pagination,
  request: PageRequest,
  reply: Reply,
  found: NextPage | null,
): PageRequest | null {
  switch (pagination.type) {
    case "link_header": {
      const link = nextLink(reply.headers.link ?? "");
      return link === null ? null : { ...request, url: linked(link, request, reply) };
    }
    case "cursor":
      return byCursor(pagination, request, reply, found?.cursor ?? null);
    default:
      return byCount(pagination, request, found);
  }
}

function byCursor(
  pagination: Extract<Pagination, { type: "cursor" }>,
  request: PageRequest,
  reply: Reply,
  cursor: NextPage["cursor"],
): PageRequest | null {
  if (cursor === null) return null;
  const { cursorParam } = pagination;
  if (cursorParam === undefined) return { ...request, url: linked(String(cursor), request, reply) };
  if (pagination.cursorIn === "body") {
    if (request.body !== undefined && !isObject(request.body)) {
      throw new AppError("definition_invalid", "A cursor in the body requires an object as the body.");
    }
    return { ...request, body: { ...request.body, [cursorParam]: cursor } };
  }
  const url = new URL(request.url);
  url.searchParams.set(cursorParam, String(cursor));
  return { ...request, url };
}

function byCount(
  pagination: Extract<Pagination, { type: "page" | "offset" }>,
  request: PageRequest,
  found: NextPage | null,
): PageRequest | null {
  const items = found?.items ?? null;
  const step = pagination.type === "page" ? 1 : (items ?? pagination.pageSize);
  if ((items === null && pagination.hasNextPath === undefined) || step === undefined) {
    const message =
      "The page is not a list. Set itemsPath, so that an empty page is recognized, or hasNextPath.";
    throw new AppError("definition_invalid", message);
  }
  if (step === 0 || items === 0 || found?.hasNext === false) return null;
  const url = new URL(request.url);
  const name = counter(pagination);
  url.searchParams.set(name, String(Number(url.searchParams.get(name)) + step));
  return { ...request, url };
}

/** Resolves a link in the response. It can't lead to another server, since the request may carry credentials. */
function linked(link: string, request: PageRequest, reply: Reply): URL {
  if (!URL.canParse(link, reply.url)) {
    throw new AppError("upstream", "The response names a next page that is not a valid URL.");
  }
  const url = new URL(link, reply.url);
  const upgraded = url.protocol === "https:" && url.host === request.url.host;
  if (url.origin === request.url.origin || upgraded) return url;
  const message = `The next page is on another server (${url.host}, not ${request.url.host}). Weir doesn't follow it.`;
  throw new AppError("upstream", message);
}

/** Throws if a page was requested before, since the pages would never end. */
export function checkNew(seen: Set<string>, request: PageRequest): void {
  const key = JSON.stringify([request.url.href, request.body ?? null]);
  if (seen.has(key)) {
    const address = maskSecrets(request.url.href);
    throw new AppError("upstream", `The server returned the same next page twice: ${address}.`);
  }
  seen.add(key);
}

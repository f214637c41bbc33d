import { AppError } from "../../base/errors.ts";
import { nextLink, withQuery } from "../../base/http-message.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { isNumeric } from "../../base/json-numbers.ts";
import { instantMs } from "../api/instants.ts";
import type { ExtractRequest, Link } from "../contract.ts";
import { type CURSOR_FORMATS, counterOf, type Endpoint, type Paginator } from "./endpoint.ts";
import { type PageBody, searchPage } from "./search.ts";

/** Parameters that differ between pages, without credentials. */
export interface PageRequest {
  url: string;
  body: JsonObject | null;
}

/** A response and the number of its rows. */
export interface CountedPage extends PageBody {
  /** Of the last redirect. */
  url: string;
  headers: Headers;
  /** Returns a string of the body with the credentials in it. Null if none reads like this without them. */
  unmask(found: string): string | null;
  /** Number of items in the response, including those that aren't rows. */
  items: number;
}

type Range = NonNullable<ExtractRequest["range"]>;
type Counting = Extract<Paginator, { type: "page" | "offset" }>;

/** The request for the first page. Throws `definition_invalid` for a cursor value that the format can't express. */
export function firstPage(endpoint: Endpoint, address: string, request: ExtractRequest): PageRequest {
  const { params = {}, body, paginator = { type: "none" }, incremental } = endpoint;
  let pageRequest: PageRequest = { url: withQuery(new URL(address), params).href, body: body ?? null };
  if (incremental && request.range) {
    const { startParam, endParam, format = "as_is", in: location } = incremental;
    const { field, from, to } = request.range as Range;
    if (from !== null)
      pageRequest = withParameter(pageRequest, location, startParam, written(field, from, format, "start"));
    if (to !== null && endParam !== undefined)
      pageRequest = withParameter(pageRequest, location, endParam, written(field, to, format, "end"));
  }
  if (paginator.type === "none") return pageRequest;
  const size = sizeOf(paginator, request.batchSize);
  if (paginator.sizeParam !== undefined && size !== null)
    pageRequest = withParameter(pageRequest, paginator.in, paginator.sizeParam, size);
  return isCounting(paginator)
    ? withParameter(pageRequest, paginator.in, counter(paginator), startOf(paginator))
    : pageRequest;
}

const isCounting = (paginator: Paginator): paginator is Counting =>
  paginator.type === "page" || paginator.type === "offset";

const counter = (paginator: Counting): string =>
  counterOf(paginator, paginator.type === "page" ? "pageParam" : "offsetParam") ?? paginator.type;

const startOf = (paginator: Counting): number =>
  paginator.type === "page" ? (paginator.startPage ?? 1) : (paginator.startOffset ?? 0);

function sizeOf(paginator: Exclude<Paginator, { type: "none" }>, batchSize: number | null): number | null {
  const { pageSize } = paginator;
  if (pageSize === undefined) return batchSize;
  return Math.min(pageSize, batchSize ?? pageSize);
}

/** The request for the next page; null after the last. Throws `upstream` for a broken link or one to another server. */
export async function nextPage(
  link: Link,
  paginator: Paginator,
  pageRequest: PageRequest,
  page: CountedPage,
  batchSize: number | null,
): Promise<PageRequest | null> {
  if (paginator.type === "none") return null;
  const { hasNextPath } = "hasNextPath" in paginator ? paginator : {};
  if (hasNextPath !== undefined && !isTrue(await searchPage(link, page, hasNextPath))) return null;
  const ended = () => {
    if (hasNextPath !== undefined)
      link.warn?.("The API announces more rows at hasNextPath, but names no next page, so the list ended.", {
        isPartial: true,
      });
    return null;
  };
  switch (paginator.type) {
    case "link_header": {
      const address = nextLink(page.headers.get("link") ?? "");
      return address === null ? ended() : { ...pageRequest, url: linked(address, pageRequest, page) };
    }
    case "json_link": {
      const address = await cursorIn(link, page, paginator.nextPath, "nextPath");
      return address === null ? ended() : { ...pageRequest, url: linked(String(address), pageRequest, page) };
    }
    case "cursor": {
      const cursor = await cursorIn(link, page, paginator.cursorPath, "cursorPath");
      return cursor === null
        ? ended()
        : withParameter(pageRequest, paginator.in, paginator.cursorParam, cursor);
    }
    default:
      return counted(paginator, pageRequest, page, batchSize);
  }
}

function counted(
  paginator: Counting,
  pageRequest: PageRequest,
  { items }: CountedPage,
  batchSize: number | null,
): PageRequest | null {
  const size = sizeOf(paginator, batchSize);
  if (items === 0 && paginator.hasNextPath === undefined) return null;
  if (items === 0 && paginator.type === "offset") {
    throw new AppError(
      "upstream",
      "The API returned an empty page and announces more, so it is unknown where these begin.",
    );
  }
  if (paginator.stopOnShortPage && size !== null && items < size) return null;
  const name = counter(paginator);
  const before = Number(parameterOf(pageRequest, paginator.in, name));
  return withParameter(pageRequest, paginator.in, name, before + (paginator.type === "page" ? 1 : items));
}

const isTrue = (value: Json) =>
  Array.isArray(value) ? value.length > 0 : Boolean(value) && !/^(?:false|no|0)$/i.test(String(value));

/** A cursor or a URL; null if there is none. */
async function cursorIn(
  link: Link,
  page: CountedPage,
  expression: string,
  field: string,
): Promise<string | number | null> {
  const found: unknown = await searchPage(link, page, expression);
  if (found === null || found === "" || found === false) return null;
  if (typeof found === "number") return found;
  if (typeof found === "string") {
    const text = page.unmask(found);
    if (text !== null) return text;
    throw new AppError(
      "upstream",
      `The next page contains credentials in a text that ${field} computes. Let it find the text as it is in the response.`,
    );
  }
  if (isNumeric(found)) return String(found);
  throw new AppError(
    "upstream",
    `The value at ${field} in the response is neither a string nor a number, so the next page can't be requested.`,
  );
}

/** Resolves a link. It can't lead to another server, since the request carries credentials. */
export function linked(
  link: string,
  { url: requestUrl }: PageRequest,
  { url: at }: Pick<CountedPage, "url">,
  isRedirect = false,
): string {
  if (!URL.canParse(link, at)) {
    const what = isRedirect ? "redirects to a URL" : "names a next page";
    throw new AppError("upstream", `The reply ${what} that is not a valid URL.`);
  }
  const [target, own] = [new URL(link, at), new URL(requestUrl)];
  if (target.origin === own.origin && target.username === "" && target.password === "") {
    target.hash = "";
    return target.href;
  }
  const other = target.origin === "null" ? target.protocol : target.origin;
  const what = isRedirect ? "The target of the redirect" : "The next page";
  throw new AppError(
    "upstream",
    `${what} is on another server (${other}, not ${own.origin}). Weir doesn't follow it, so that the credentials aren't sent there.`,
  );
}

function withParameter(
  pageRequest: PageRequest,
  location: "query" | "body" | undefined,
  name: string,
  value: string | number,
): PageRequest {
  if (location === "body")
    return { ...pageRequest, body: put(pageRequest.body ?? {}, name.split("."), value) };
  const url = new URL(pageRequest.url);
  url.searchParams.set(name, String(value));
  return { ...pageRequest, url: url.href };
}

function parameterOf(
  pageRequest: PageRequest,
  location: "query" | "body" | undefined,
  name: string,
): unknown {
  if (location !== "body") return new URL(pageRequest.url).searchParams.get(name);
  return name
    .split(".")
    .reduce<unknown>(
      (value, key) => (isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined),
      pageRequest.body,
    );
}

function put(body: JsonObject, [head = "", ...rest]: string[], value: string | number): JsonObject {
  const inner = Object.hasOwn(body, head) ? body[head] : undefined;
  const made = rest.length === 0 ? value : put(isObject(inner) ? inner : {}, rest, value);
  return Object.fromEntries([...Object.entries(body), [head, made]]); // keeps `__proto__` as an ordinary name
}

/**
 * A cursor value in the API's format. If the format is less exact, rounds outwards, so that the request covers more
 * than the range: the caller leaves out the rest.
 */
function written(
  field: string,
  value: Json,
  format: (typeof CURSOR_FORMATS)[number],
  side: "start" | "end",
): string | number {
  const isNumber = typeof value === "number" || (typeof value === "string" && /^-?\d+(\.\d+)?$/.test(value));
  if (isNumber && (format === "as_is" || format.startsWith("epoch"))) return value as string | number;
  if (format === "as_is" && typeof value === "string") return value;
  const exact = instantMs(value);
  if (Number.isNaN(exact)) {
    throw new AppError(
      "definition_invalid",
      `The cursor "${field}" can't be written as ${format}: ${JSON.stringify(value)} is not a date and time.`,
    );
  }
  const isCut = side === "end" && /\.\d{3}\d*[1-9]/.test(String(value));
  const ms = isCut ? exact + 1 : exact;
  const rounded = (unit: number) => (side === "start" ? Math.floor(ms / unit) : Math.ceil(ms / unit));
  switch (format) {
    case "epoch_s":
      return rounded(1000);
    case "epoch_ms":
      return ms;
    case "date":
      return new Date(rounded(86_400_000) * 86_400_000).toISOString().slice(0, 10);
    default:
      return new Date(ms).toISOString();
  }
}

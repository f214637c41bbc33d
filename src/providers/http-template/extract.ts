import { AppError } from "../../base/errors.ts";
import { withoutSecrets } from "../../base/hide.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { doubleOf } from "../../base/json-numbers.ts";
import { OddValues } from "../../base/odd-values.ts";
import { read } from "../../base/shape.ts";
import { walkPages } from "../api/pages.ts";
import type { Extraction, ExtractRequest, HttpAccess, JsonList, Link } from "../contract.ts";
import { type Asking, ask } from "./ask.ts";
import { DEFAULT_MAX_PAGES, Endpoint, endpointFaults, type Paginator, specFault } from "./endpoint.ts";
import { firstPage, nextPage, type PageRequest } from "./pages.ts";
import { errorIn, listFieldOf, rowsIn } from "./rows.ts";
import { type PageBody, searchPage } from "./search.ts";

/** Number of consecutive empty pages after which a list counts as endless. */
const MAX_EMPTY_PAGES = 1_000;

/**
 * The rows of one resource of an HTTP API, page by page, as defined by its endpoint. The API's own filter may be wider
 * than the range, so the caller filters too. A list that repeats a page or doesn't end is an error.
 * Throws `definition_invalid` for an impossible request, `upstream` for other failures.
 */
export async function extractHttp(
  access: HttpAccess,
  link: Link,
  request: ExtractRequest,
): Promise<Extraction> {
  const endpoint = endpointOf(request);
  const address = access.baseUrl(link).replace(/\/+$/, "") + request.spec;
  const { host } = new URL(address);
  const odd = new OddValues();
  const asking: Asking = { access, link, endpoint, spec: request.spec, system: host, secrets: [], odd };
  const reading = new Reading(asking, request);
  // The rows left out have to be those with the greatest cursors, but their order is unknown.
  const maxRows = request.range === null ? request.maxRows : null;
  const walk = {
    system: host,
    first: firstPage(endpoint, address, request),
    keyOf: () => null,
    maxRows,
    signal: link.signal,
  };
  const pages = walkPages<PageRequest>({ ...walk, read: (pageRequest) => reading.page(pageRequest) });
  const listAt = maxRows === null ? listFieldOf(endpoint) : null;
  const texts =
    listAt &&
    walkPages<PageRequest, Rows>({ ...walk, read: (pageRequest) => reading.text(pageRequest, listAt) });
  const source = {
    kind: "rows" as const,
    pages,
    odd,
    ranged: false,
    ...(texts ? { texts: each(texts) } : {}),
  };
  if (endpoint.totalPath === undefined) return source;
  return {
    ...source,
    get total() {
      return reading.total ?? reading.rows;
    },
  };
}

/** The rows of one page. */
type Rows = JsonObject[] | JsonList;

const countOf = (rows: Rows): number => (Array.isArray(rows) ? rows.length : rows.rows);

async function* each<T>(lists: AsyncIterable<T[]>): AsyncGenerator<T> {
  for await (const list of lists) yield* list;
}

function endpointOf(request: ExtractRequest): Endpoint {
  const { spec, endpoint: ownEndpoint = {}, where, range } = request;
  const fault = specFault(spec);
  if (fault) throw new AppError("definition_invalid", fault);
  if (where) {
    const message = "An HTTP API takes no condition: leave `where` out, and filter by endpoint.params.";
    throw new AppError("definition_invalid", message);
  }
  const { value, faults } = read(Endpoint, ownEndpoint, ["endpoint"]);
  const messages = [
    ...faults.map(({ loc, msg }) => `${loc.join(".")}: ${msg}`),
    ...(faults.length > 0
      ? []
      : endpointFaults(value, range !== null).map(
          ({ path, message }) => `${["endpoint", ...path].join(".")}: ${message}`,
        )),
  ];
  if (messages.length > 0) throw new AppError("definition_invalid", messages.join("; "));
  return value;
}

/** Pages of one resource, in order. */
class Reading {
  rows = 0;
  /** Total according to the last page. */
  total: number | null = null;
  #pages = 0;
  #empty = 0;
  #before: Rows = [];

  constructor(
    readonly asking: Asking,
    readonly request: ExtractRequest,
  ) {}

  async page(pageRequest: PageRequest): Promise<{ rows: JsonObject[]; next: PageRequest | null }> {
    const { rows, next } = await this.#read(pageRequest, null);
    return { rows: Array.isArray(rows) ? rows : [], next };
  }

  /** All rows of a page as one text, if the path of their list is known and nothing else is needed. */
  async text(
    pageRequest: PageRequest,
    listAt: readonly string[],
  ): Promise<{ rows: Rows[]; next: PageRequest | null }> {
    const { rows, next } = await this.#read(pageRequest, listAt);
    return { rows: countOf(rows) > 0 ? [rows] : [], next };
  }

  /** Masks credentials in errors. */
  async #read(
    pageRequest: PageRequest,
    listAt: readonly string[] | null,
  ): Promise<{ rows: Rows; next: PageRequest | null }> {
    try {
      return await this.#ask(pageRequest, listAt);
    } catch (error) {
      throw withoutSecrets(error, this.asking.secrets);
    }
  }

  async #ask(
    pageRequest: PageRequest,
    listAt: readonly string[] | null,
  ): Promise<{ rows: Rows; next: PageRequest | null }> {
    const { system, spec, endpoint } = this.asking;
    const { paginator, maxPages = DEFAULT_MAX_PAGES } = endpoint;
    if (this.#pages >= maxPages) {
      const message = `${system} returned ${maxPages} pages of ${spec}, and there are more. The list may be endless. If it isn't, raise maxPages.`;
      throw new AppError("upstream", message);
    }
    this.#pages++;
    const ends =
      this.#pages > 1 && paginator && "stopOnStatus" in paginator ? (paginator.stopOnStatus ?? []) : [];
    const reply = await ask(this.asking, { pageRequest, ends, listAt });
    if (ends.includes(reply.status) || reply.status === 204) return { rows: [], next: null };
    const { list } = reply;
    const { rows, items } = list ? { rows: list, items: list.rows } : await rowsIn(this.asking, reply);
    await this.#look(reply, paginator, countOf(rows), items);
    const page = { ...reply, items };
    const next = paginator
      ? await nextPage(this.asking.link, this.#patient(paginator), pageRequest, page, this.request.batchSize)
      : null;
    if (paginator && next === null) this.#checkEnd(reply, items, paginator);
    this.#checkMoves(rows, items, next);
    this.rows += countOf(rows);
    return { rows, next };
  }

  /** If keys are compared, a short page doesn't prove that the list ends: the server may limit the size of pages. */
  #patient(paginator: Paginator): Paginator {
    return this.request.keys && "stopOnShortPage" in paginator
      ? { ...paginator, stopOnShortPage: false }
      : paginator;
  }

  /**
   * A paginator that finds no next page may look at the wrong field, and a short page may have others after it. Many
   * APIs name a next page in an empty response too, so that is a sign only where a missing row would be deleted.
   */
  #checkEnd({ body, headers }: { body: Json; headers: Headers }, items: number, paginator: Paginator): void {
    const { link, spec, endpoint } = this.asking;
    const isFirst = this.#pages === 1;
    const isSaid = "hasNextPath" in paginator && paginator.hasNextPath !== undefined;
    const isSure = paginator.type === "none" || isSaid || items === 0;
    if (isSure && !(isFirst && this.request.keys)) return;
    const where = `The list ${spec} ended with ${isFirst ? "its first response" : `response ${this.#pages}`}, which seems to`;
    const hint = hintOfNext(body, headers);
    if (hint !== null)
      link.warn?.(`${where} name a next page (${hint}). Check endpoint.paginator.`, { isPartial: true });
    const more =
      hint === null && isFirst && endpoint.totalPath === undefined ? hintOfMore(body, items) : null;
    if (more !== null) link.warn?.(`${where} be one page of several (${more}). Check endpoint.paginator.`);
  }

  /** A repeated page, or many empty ones, means that the list doesn't end. */
  #checkMoves(rows: Rows, items: number, next: PageRequest | null): void {
    const { system, spec } = this.asking;
    this.#empty = items === 0 ? this.#empty + 1 : 0;
    if (next !== null && this.#empty >= MAX_EMPTY_PAGES) {
      const message = `${system} returned ${MAX_EMPTY_PAGES} pages of ${spec} without a row, and announces more.`;
      throw new AppError("upstream", message);
    }
    if (countOf(rows) === 0) return;
    if (isSame(rows, this.#before)) {
      const message = `${system} gave the same rows of ${spec} for two pages, one after the other. It ignores the paginator's parameters, or has no more pages without saying so. Check the parameters, or set hasNextPath.`;
      throw new AppError("upstream", message);
    }
    this.#before = rows;
  }

  /** Metadata of a page, apart from its rows. */
  async #look(
    page: PageBody & { headers: Headers },
    paginator: Paginator | undefined,
    rows: number,
    items: number,
  ): Promise<void> {
    const { body, headers } = page;
    const { link, endpoint, spec, system, secrets } = this.asking;
    if (endpoint.totalPath !== undefined) {
      const total = doubleOf(await searchPage(link, page, endpoint.totalPath));
      if (total !== null) this.total = total;
      else link.warn?.(`The responses have no number at totalPath, so the row count isn't checked.`);
    }
    const error = errorIn(body, endpoint.dataPath ?? "", secrets);
    if (error !== null && rows === 0)
      throw new AppError("upstream", `${system} returned an error and no rows for ${spec}: ${error}`);
    if (error !== null) link.warn?.(`The API gave rows and an error: ${error}`, { isPartial: true });
    const hasNextPath = paginator && "hasNextPath" in paginator ? paginator.hasNextPath : undefined;
    if (
      hasNextPath !== undefined &&
      this.#pages === 1 &&
      (await searchPage(link, page, hasNextPath)) === null
    )
      link.warn?.("The first response has nothing at hasNextPath, so only one page was read.", {
        isPartial: true,
      });
    if (paginator !== undefined || this.#pages > 1) return;
    const next = hintOfNext(body, headers);
    const none = "only one was read. Set endpoint.paginator, or its type to none.";
    if (next !== null)
      link.warn?.(`The response for ${spec} seems to name a next page (${next}), but ${none}`, {
        isPartial: true,
      });
    // A number may mean something else, so it doesn't keep rows from being deleted.
    const more = next === null && endpoint.totalPath === undefined ? hintOfMore(body, items) : null;
    if (more !== null)
      link.warn?.(`The response for ${spec} seems to be one page of several (${more}), but ${none}`);
  }
}

/** Compares text rows by their bytes. */
function isSame(rows: Rows, before: Rows): boolean {
  if (Array.isArray(rows) || Array.isArray(before)) return Bun.deepEquals(rows, before);
  return textOf(rows).equals(textOf(before));
}

const textOf = ({ bytes, from, to }: JsonList) =>
  Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from);

const NEXT = /^(next|next_?(page|url|link|cursor|token|page_?token|page_?url)|@odata\.nextlink)$/i;
const MORE = /^(has_?(more|next|next_?page))$/i;
/** Names that are no amounts, unlike a bare `total` outside of what describes the list. */
const TOTAL = /^(meta|pag\w+)[.]total$|^(\w+[.])?total_?(count|items|results|rows|records|elements)$/i;
const PAGES = /^(\w+[.])?(total_?pages|page_?count)$/i;
const AROUND = /^(links?|_links|paging|pagination|page_?info|meta|response_metadata)$/i;

/** Signs of a next page in a response. */
function hintOfNext(body: Json, headers: Headers): string | null {
  if (/;\s*rel\s*=\s*"?next\b/i.test(headers.get("link") ?? "")) return "the Link header";
  for (const [name, item] of fieldsAround(body)) {
    const last = name.slice(name.indexOf(".") + 1);
    const isNext = NEXT.test(last) && names(item);
    if (isNext || (MORE.test(last) && item === true)) return name;
  }
  return null;
}

/** Whether a value names a next page: not `{"href": null}`. */
const names = (item: Json): boolean =>
  isObject(item) ? Object.values(item).some(names) : item !== null && item !== "" && item !== false;

/** A number in a response that promises more than this number of items. */
function hintOfMore(body: Json, items: number): string | null {
  for (const [name, item] of fieldsAround(body)) {
    if (!Number.isSafeInteger(item)) continue;
    if ((TOTAL.test(name) && Number(item) > items) || (PAGES.test(name) && Number(item) > 1))
      return `${name}: ${item}`;
  }
  return null;
}

/** The fields of a response, and those of the objects that describe its list: `next`, `meta.total`. */
const fieldsAround = (body: Json): [string, Json][] =>
  isObject(body)
    ? Object.entries(body).flatMap(([name, item]): [string, Json][] => [
        [name, item],
        ...(AROUND.test(name) && isObject(item)
          ? Object.entries(item).map(([inner, each]): [string, Json] => [`${name}.${inner}`, each])
          : []),
      ])
    : [];

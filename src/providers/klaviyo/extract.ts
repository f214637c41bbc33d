import { AppError } from "../../base/errors.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { instantMs, rangeEnd } from "../api/instants.ts";
import { withLate } from "../api/late.ts";
import { type ApiPage, walkPages } from "../api/pages.ts";
import type { Extraction, ExtractRequest } from "../contract.ts";
import { getDocument } from "./client.ts";
import { SYSTEM } from "./failure.ts";
import { attributesOf, findResource, wantedColumns } from "./request.ts";
import { columnsOf, type Resource } from "./resources.ts";
import type { KlaviyoLink } from "./shape.ts";

/** Request for one page of the resource's part `part`: from `order` on, and within it from `cursor`. */
interface PageRequest {
  part: number;
  order: string | null;
  cursor: string | null;
}

/** Reading state of one resource. */
interface Reading {
  link: KlaviyoLink;
  resource: Resource;
  /** The date that rows are sorted by, and its range. */
  order: string | null;
  from: string | null;
  to: string | null;
  /** Attributes to request; null for all. */
  fields: readonly string[] | null;
  additional: readonly string[];
  pageSize: number | null;
}

/**
 * The rows of one resource, page by page. Klaviyo's filters have their own bounds, so the caller applies the range too.
 * Throws `not_found`, `cursor_field_missing`, `definition_invalid`, `upstream`.
 */
export async function extractResource(link: KlaviyoLink, request: ExtractRequest): Promise<Extraction> {
  const resource = findResource(request.spec);
  if (request.where) {
    throw new AppError("definition_invalid", "Klaviyo doesn't support conditions. Remove `where`.");
  }
  const { range, maxRows, batchSize, columns } = request;
  if (range && !Object.hasOwn(columnsOf(resource), range.field)) {
    throw new AppError(
      "cursor_field_missing",
      `The resource ${resource.name} of Klaviyo has no column "${range.field}", which is to be its cursor.`,
      { details: { table: resource.name, field: range.field } },
    );
  }
  const isFiltered = range !== null && Object.hasOwn(resource.dates, range.field);
  const wanted = columns && wantedColumns(resource, columns);
  const reading: Reading = {
    link,
    resource,
    order: isFiltered ? range.field : resource.order,
    from: isFiltered ? isoOf(rangeEnd(range.field, range.from)) : null,
    to: isFiltered ? isoOf(rangeEnd(range.field, range.to)) : null,
    fields: wanted && attributesOf(resource, wanted),
    additional: (resource.additional ?? []).filter((name) => wanted?.has(name)),
    pageSize: resource.pageSize && Math.min(batchSize ?? resource.pageSize, resource.pageSize),
  };
  const isCut = resource.parts === undefined && (range === null || isFiltered);
  const pages =
    range !== null && mayMiss(reading, range.field)
      ? withLate({
          clock: link.clock,
          changedMs: (row) => instantMs(row.updated ?? row.updated_at),
          stateOf,
          pages: (sinceMs) => rowsOf(sinceMs === null ? reading : changedSince(reading, sinceMs), null),
        })
      : rowsOf(reading, isCut ? maxRows : null);
  return { kind: "rows", pages, ranged: false };
}

const stateOf = ({ id, updated, updated_at }: JsonObject) => `${id} ${updated ?? updated_at ?? ""}`;

/** The date of a row's last change; undefined if rows never change or no list can be filtered by it. */
const changeOf = ({ dates }: Resource) =>
  ["updated", "updated_at"].find((name) => Object.hasOwn(dates, name));

/** Whether rows aren't sorted by the cursor and may change during the reading. Events never change. */
const mayMiss = ({ resource, order }: Reading, cursor: string): boolean =>
  (resource.parts !== undefined || order !== cursor) &&
  (changeOf(resource) !== undefined || Object.keys(resource.dates).length === 0);

/** Rows changed since then, or all if Klaviyo can't filter by it. */
function changedSince(reading: Reading, ms: number): Reading {
  const order = changeOf(reading.resource);
  return order === undefined ? reading : { ...reading, order, from: isoOf(ms), to: null };
}

const isoOf = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());

function rowsOf(reading: Reading, maxRows: number | null): AsyncIterable<JsonObject[]> {
  const { resource, order, link } = reading;
  let part = 0;
  return walkPages<PageRequest>({
    system: SYSTEM,
    first: { part, order: null, cursor: null },
    async read(page) {
      part = page.part;
      return readPage(reading, page);
    },
    keyOf: (row) => (typeof row.id === "string" ? stateOf(row) : null),
    orderOf: (row) => (order !== null && typeof row[order] === "string" ? row[order] : null),
    ...(order !== null && Object.hasOwn(resource.dates, order)
      ? {
          resume: (last: string) =>
            Number.isNaN(instantMs(last)) ? null : { part, order: last, cursor: null },
        }
      : {}),
    maxRows,
    signal: link.signal,
  });
}

async function readPage(reading: Reading, page: PageRequest): Promise<ApiPage<PageRequest>> {
  const parts = reading.resource.parts ?? [];
  const part = parts[page.part];
  const following = page.part + 1 < parts.length ? { part: page.part + 1, order: null, cursor: null } : null;
  const document = await getAdapting(reading, page).catch((error: unknown) => {
    const isRefused = error instanceof AppError && error.details?.parameter === "filter";
    if (!part?.isOptional || !isRefused) throw error;
    const of = Object.values(part.columns).join(", ");
    reading.link.warn?.(
      `Klaviyo has no ${reading.resource.name} of ${of} for this account. None were read.`,
      { isPartial: true },
    );
    return null;
  });
  if (document === null) return { rows: [], next: following };
  const { data, links } = document;
  if (!Array.isArray(data)) {
    throw new AppError("upstream", `Klaviyo's response contains no ${reading.resource.name}.`, {
      retryable: true,
    });
  }
  const items = data.filter(isObject);
  if (items.length < data.length) {
    reading.link.warn?.(`Klaviyo returned ${data.length - items.length} items as null. They were omitted.`, {
      isPartial: true,
    });
  }
  const rows = items.map((item) => ({ ...rowOf(item), ...part?.columns }));
  const cursor = cursorIn(isObject(links) ? links.next : null);
  return { rows, next: cursor === null ? following : { ...page, cursor } };
}

/** The cursor in `links.next`, used with the original URL: behind a proxy the links still name Klaviyo's host. */
function cursorIn(next: Json | undefined): string | null {
  if (typeof next !== "string" || next === "") return null;
  const cursor = URL.canParse(next, "https://a.klaviyo.com/")
    ? new URL(next, "https://a.klaviyo.com/").searchParams.get("page[cursor]")
    : null;
  if (cursor !== null) return cursor;
  throw new AppError("upstream", "Klaviyo reports more pages, but not where they start.");
}

/** Retries without the fields that the key or revision doesn't allow, with a warning. */
async function getAdapting(reading: Reading, page: PageRequest): Promise<JsonObject> {
  const { link, resource } = reading;
  for (;;) {
    try {
      const tier = reading.additional.length > 0 ? (resource.additionalTier ?? resource.tier) : resource.tier;
      return await getDocument(link, {
        path: resource.name,
        parameters: parametersOf(reading, page),
        tier,
        purpose: { what: resource.name, scope: resource.scope },
      });
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      const { parameter, status } = error.details ?? {};
      const field = typeof parameter === "string" ? parameter : "";
      const isAdditional = status === 403 || field.startsWith("additional-fields");
      if (reading.additional.length > 0 && isAdditional) {
        const names = reading.additional.join(", ");
        link.warn?.(
          `This apiKey can't read ${names} of ${resource.name}; the columns stay empty. ${error.message}`,
        );
        reading.additional = [];
      } else if (reading.fields !== null && field.startsWith("fields")) {
        link.warn?.(`Klaviyo doesn't know all requested columns of ${resource.name}. ${error.message}`);
        reading.fields = null;
      } else throw error;
    }
  }
}

function parametersOf(reading: Reading, page: PageRequest): [string, string][] {
  const { resource, order, pageSize, fields, additional } = reading;
  const filter = filterOf(reading, page);
  return [
    ...(filter === null ? [] : [["filter", filter] as [string, string]]),
    ...(order === null ? [] : [["sort", order] as [string, string]]),
    ...(fields === null || fields.length === 0
      ? []
      : [[`fields[${resource.type}]`, fields.join(",")] as [string, string]]),
    ...(additional.length === 0
      ? []
      : [[`additional-fields[${resource.type}]`, additional.join(",")] as [string, string]]),
    ...(pageSize === null ? [] : [["page[size]", String(pageSize)] as [string, string]]),
    ...(page.cursor === null ? [] : [["page[cursor]", page.cursor] as [string, string]]),
  ];
}

function filterOf({ resource, order, from, to }: Reading, page: PageRequest): string | null {
  const date = order === null ? undefined : resource.dates[order];
  const least = page.order === null ? from : isoOf(instantMs(page.order));
  const conditions = [
    ...(date && least !== null ? [`${date.from}(${order},${lowest(least, date.from)})`] : []),
    ...(date?.to && to !== null ? [`${date.to}(${order},${to})`] : []),
    ...(resource.parts ? [resource.parts[page.part]?.filter ?? ""] : []),
  ];
  if (conditions.length === 0) return null;
  return conditions.length === 1 && !resource.parts
    ? (conditions[0] ?? null)
    : `and(${conditions.join(",")})`;
}

/** A filter that is exclusive starts one second earlier; the caller leaves out the rest. */
const lowest = (instant: string, operator: "greater-than" | "greater-or-equal"): string =>
  operator === "greater-or-equal" ? instant : new Date(instantMs(instant) - 1_000).toISOString();

/** A JSON:API item as one flat row: its ID, its attributes and the IDs of its relationships. */
function rowOf({ id, attributes, relationships }: JsonObject): JsonObject {
  const row: JsonObject = { id: id ?? null, ...(isObject(attributes) ? attributes : {}) };
  for (const [name, relation] of Object.entries(isObject(relationships) ? relationships : {})) {
    const data = isObject(relation) ? relation.data : undefined;
    if (Array.isArray(data)) row[`${name}_ids`] = data.filter(isObject).map((each) => each.id ?? null);
    else if (isObject(data)) row[`${name}_id`] = data.id ?? null;
  }
  return row;
}

import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import type { Endpoint } from "../../providers/http-template/endpoint.ts";
import type { Listing, Unresolved } from "../contract.ts";
import type { Inputs } from "../openapi-inputs.ts";
import type { Part, References } from "../openapi-refs.ts";
import { findChanges, findKey } from "./keys.ts";
import { findPaging, type ListFacts, pathOf } from "./paging.ts";
import { hasRole, type QueryParameter, queryParameters, type Role } from "./parameters.ts";
import { type Called, findRows } from "./rows.ts";
import { openViews, type View, type Views, viewOf } from "./view.ts";

/** A GET operation of a description, its parameters read. */
export interface ListOperation {
  refs: References;
  operation: JsonObject;
  /** Where references in it begin. */
  at: Pick<Part, "base">;
  /** As the description has it. */
  path: string;
  inputs: Inputs;
}

const SAYS_LIST =
  /^(?:list|search|query|find|browse|enumerate|index|getall|all|fetchall|retrieveall|getlist|getmany|findall|readall|listall)(?![a-z])|(?:list|index|search|collection)$/i;

const LISTED = /^(?:get |retrieve |return |fetch )?(?:all|list|a list|lists|search|find|the list)\b/i;

/**
 * How the rows of an operation are read, as its description tells; null where it gives no list. What is not told for
 * sure stands in `unresolved`, and never in the rest.
 */
export function listingOf({ refs, operation, at, path, inputs }: ListOperation): Listing | null {
  const views = openViews(refs);
  const found = replyOf(views, operation, at.base);
  const parameters = queryParameters(inputs);
  const called = calledOf(operation, path, parameters);
  if (!found) return called.isPaged || (called.saysList && !called.endsWithParameter) ? unknownReply() : null;
  const rows = findRows(found.reply, called);
  if (rows.kind === "none") return null;
  if (rows.kind === "several") {
    const candidates = rows.candidates.map(({ names }) => pathOf(names));
    return unreadable("It does not say which of the lists in a reply has the rows.", candidates);
  }
  const facts = { rows: rows.rows, parameters, description: textOf(operation), path };
  const listing = read({ ...found, ...facts }, called);
  return withHeaders(listing, inputs);
}

const unreadable = (message: string, candidates: Json[]): Listing => ({
  endpoint: {},
  primaryKey: [],
  incremental: null,
  asks: [],
  unresolved: [{ field: "endpoint.dataPath", message, candidates }],
});

const unknownReply = () => unreadable("It does not say what a reply holds.", []);

function read(facts: ListFacts, { segment }: Called): Listing {
  const { rows, parameters } = facts;
  const unresolved: Unresolved[] = [];
  const endpoint: Endpoint = rows.names.length === 0 ? {} : { dataPath: pathOf(rows.names) };
  const paging = findPaging(facts);
  if (paging.kind === "open") {
    const { message, candidates } = paging;
    unresolved.push({ field: "endpoint.paginator", message, candidates });
  } else {
    if (paging.paginator.type !== "none") endpoint.paginator = paging.paginator;
    if (paging.totalPath !== null) endpoint.totalPath = paging.totalPath;
  }
  const params: Record<string, string | number | boolean> = {};
  const asks: Listing["asks"] = [];
  for (const { name, schema, description, isRequired } of parameters) {
    if (!isRequired || paging.uses.includes(name)) continue;
    const value = presetOf(schema);
    if (value === null) asks.push({ name, location: "query", description });
    else params[name] = value;
  }
  if (Object.keys(params).length > 0) endpoint.params = params;
  const key = findKey(rows.item, segment);
  if ("field" in key) unresolved.push(key);
  const changes = findChanges(
    rows.item,
    parameters.filter(({ name }) => !paging.uses.includes(name)),
  );
  if (changes) endpoint.incremental = changes.endpoint;
  const primaryKey = "field" in key ? [] : key.primaryKey;
  return { endpoint, primaryKey, incremental: changes?.incremental ?? null, asks, unresolved };
}

/** Headers that the API asks for. */
function withHeaders(listing: Listing, inputs: Inputs): Listing {
  const headers: Record<string, string | number | boolean> = {};
  const asks: Listing["asks"] = [];
  for (const [owner, argument] of inputs.owners) {
    const [, name] = /^header:(.*)$/s.exec(owner) ?? [];
    const schema = inputs.properties[argument];
    if (name === undefined || !isObject(schema) || !inputs.required.includes(argument)) continue;
    const value = presetOf(schema);
    if (value === null) asks.push({ name, location: "header", description: described(schema) });
    else headers[name] = value;
  }
  const { endpoint } = listing;
  return {
    ...listing,
    endpoint: Object.keys(headers).length > 0 ? { ...endpoint, headers } : endpoint,
    asks: [...listing.asks, ...asks],
  };
}

const described = ({ description }: JsonObject) => (typeof description === "string" ? description : "");

/** The one value that a parameter has where nobody gives another. */
function presetOf({
  default: preset,
  enum: values,
  const: fixed,
}: JsonObject): string | number | boolean | null {
  const [only, ...others] = Array.isArray(values) ? values : [];
  const value = fixed ?? preset ?? (others.length === 0 ? only : undefined);
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? value : null;
}

interface FoundReply {
  reply: View;
  linkHeader: string | null;
}

/** What a reply of the status 200, or of the only other good one, holds. */
function replyOf(views: Views, operation: JsonObject, base: string): FoundReply | null {
  const responses = isObject(operation.responses) ? operation.responses : {};
  const status = ["200", "2XX", "2xx", "default", "206", "203"].find((each) => isObject(responses[each]));
  const response = status === undefined ? null : followed(views, responses[status] ?? null, base);
  if (!response || !isObject(response.value)) return null;
  const { content, schema, headers } = response.value;
  const json = isObject(content) ? jsonOf(content) : schema;
  const reply = viewOf(views, json, response.base);
  if (!reply) return null;
  return { reply, linkHeader: linkHeaderOf(views, headers, response.base) };
}

function jsonOf(content: JsonObject): Json | undefined {
  const types = Object.keys(content);
  const type =
    types.find((each) => /^application\/json\b/i.test(each)) ??
    types.find((each) => /[/+]json\b/i.test(each)) ??
    types.find((each) => each === "*/*");
  const media = type === undefined ? undefined : content[type];
  return isObject(media) ? media.schema : undefined;
}

function followed({ refs }: Views, value: Json, base: string): Pick<Part, "value" | "base"> | null {
  let at: Pick<Part, "value" | "base"> | null = { value, base };
  for (let steps = 0; at !== null && isObject(at.value) && typeof at.value.$ref === "string"; steps++) {
    if (steps > 10) return null;
    at = refs.follow(at.value.$ref, at.base);
  }
  return at;
}

function linkHeaderOf(views: Views, headers: Json | undefined, base: string): string | null {
  const [, raw] =
    Object.entries(isObject(headers) ? headers : {}).find(([name]) => /^link$/i.test(name)) ?? [];
  if (raw === undefined) return null;
  const header = followed(views, raw, base)?.value ?? null;
  return isObject(header) ? JSON.stringify(header).slice(0, 4_000) : "";
}

function calledOf(operation: JsonObject, path: string, parameters: readonly QueryParameter[]): Called {
  const parts = path.split("/").filter((part) => part !== "");
  const words = parts.filter((part) => !part.includes("{"));
  const segment = (words.at(-1) ?? "").replace(/\.json$|:\w+$/g, "");
  const id = typeof operation.operationId === "string" ? operation.operationId : "";
  const ownName = id.split(/[/.#:]/).at(-1) ?? "";
  const summary = typeof operation.summary === "string" ? operation.summary : "";
  const description = typeof operation.description === "string" ? operation.description : "";
  const has = (role: Role) => parameters.some((each) => hasRole(each, role));
  const isCounted = has("page") || has("offset") || has("cursor");
  const isSaid = (text: string) =>
    SAYS_LIST.test(text.replace(/[^A-Za-z]/g, "")) || SAYS_LIST.test(text.split(/[^A-Za-z]/)[0] ?? "");
  return {
    segment,
    endsWithParameter: (parts.at(-1) ?? "").endsWith("}"),
    saysList: isSaid(ownName) || LISTED.test(summary) || /^[^.\n]*\blist of\b/i.test(description),
    isCounted,
    isPaged: isCounted || has("size"),
  };
}

const textOf = ({ summary, description }: JsonObject) =>
  [summary, description].filter((text) => typeof text === "string").join(" ");

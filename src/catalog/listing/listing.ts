import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import type { Endpoint } from "../../providers/http-template/endpoint.ts";
import type { Listing, Unresolved } from "../contract.ts";
import type { Inputs } from "../openapi-inputs.ts";
import type { Part, References } from "../openapi-refs.ts";
import { findChanges, findKey } from "./keys.ts";
import { findPaging, type ListFacts, pathOf } from "./paging.ts";
import { hasRole, headerParameters, type QueryParameter, queryParameters, type Role } from "./parameters.ts";
import { type Called, findRows } from "./rows.ts";
import { MAX_NAME, openViews, type View, type Views, viewOf } from "./view.ts";
import { snake } from "./words.ts";

/** A GET operation of a description, with its parameters. */
export interface ListOperation {
  refs: References;
  operation: JsonObject;
  /** Document that relative references start at. */
  at: Pick<Part, "base">;
  /** As in the description. */
  path: string;
  inputs: Inputs;
  /** Why it isn't at this path of the API; null if it is. */
  elsewhere: string | null;
}

/** Matches names such as `list_orders`, `get_all_orders` and `orders_list`. */
const SAYS_LIST =
  /^(?:list|search|query|find|browse|enumerate|index|all|getall|getlist|(?:get|fetch|retrieve|read)_(?:all|list|many))(?:_|$)|(?:^|_)(?:list|index|search|collection)$/;

const LISTED = /^(?:get |retrieve |return |fetch )?(?:all|list|a list|lists|search|find|the list)\b/i;

/**
 * How to read the rows of an operation according to its description; null if it doesn't return a list. Settings that
 * aren't certain are in `unresolved` only.
 */
export function listingOf(operation: ListOperation): Listing | null {
  const views = openViews(operation.refs);
  const parameters = queryParameters(operation.inputs);
  const called = calledOf(operation.operation, operation.path, parameters);
  const listing = tell(views, operation, parameters, called);
  const isTooLong = parameters.some(({ name }) => name.length > MAX_NAME);
  if (listing && operation.elsewhere !== null) return unreadable(operation.elsewhere, []);
  if (!views.isCut && !isTooLong) return listing && kept(listing);
  return listing || isCalledList(called) ? unreadable(TOO_LARGE, []) : null;
}

const TOO_LARGE = "Its description is too large, or its names are too long.";

const isCalledList = ({ isPaged, saysList, endsWithParameter }: Called) =>
  isPaged || (saysList && !endsWithParameter);

const MAX_ASKS = 100;
const MAX_CANDIDATES = 100;

/** As stored in the catalog: shortened texts and few candidates. */
function kept({ asks, unresolved, ...listing }: Listing): Listing {
  if (asks.length > MAX_ASKS) return unreadable(TOO_LARGE, []);
  return {
    ...listing,
    asks: asks.map((ask) => ({ ...ask, description: clipped(ask.description, 500) })),
    unresolved: unresolved.map(({ field, message, candidates }) => ({
      field,
      message: clipped(message, 1_000),
      candidates: candidates.slice(0, MAX_CANDIDATES),
    })),
  };
}

const clipped = (text: string, length: number) => text.slice(0, length).toWellFormed();

function tell(
  views: Views,
  { operation, at, path, inputs }: ListOperation,
  parameters: readonly QueryParameter[],
  called: Called,
): Listing | null {
  const found = replyOf(views, operation, at.base);
  if (!found) return isCalledList(called) ? unknownReply() : null;
  const rows = findRows(found.reply, called);
  if (rows.kind === "none") return null;
  if (rows.kind === "several") {
    const candidates = rows.candidates.map(({ names }) => pathOf(names));
    return unreadable("It doesn't say which list of a response has the rows.", candidates);
  }
  const headers = headerParameters(inputs);
  const facts = { rows: rows.rows, parameters, headers, description: textOf(operation), path };
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

const unknownReply = () => unreadable("It doesn't describe its responses.", []);

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

/** Adds the headers that the API requires. */
function withHeaders(listing: Listing, inputs: Inputs): Listing {
  const headers: Record<string, string | number | boolean> = {};
  const asks: Listing["asks"] = [];
  for (const [owner, argument] of inputs.owners) {
    const [, name] = /^header:(.*)$/s.exec(owner) ?? [];
    const schema = inputs.properties[argument];
    if (name === undefined || !isObject(schema) || !inputs.required.includes(argument)) continue;
    if (name.length > MAX_NAME) return unreadable(TOO_LARGE, []);
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

/** The default value of a parameter. */
function presetOf({
  default: preset,
  enum: values,
  const: fixed,
}: JsonObject): string | number | boolean | null {
  const [only, ...others] = Array.isArray(values) ? values : [];
  const value = fixed ?? preset ?? (others.length === 0 ? only : undefined);
  // a template would be filled in, and control characters can't be sent
  if (typeof value === "string" && /\{\{|\p{Cc}/u.test(value)) return null;
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? value : null;
}

interface FoundReply {
  reply: View;
  linkHeader: string | null;
  replyHeaders: string[];
}

/** The body of the 200 response, or of the only other successful one. */
function replyOf(views: Views, operation: JsonObject, base: string): FoundReply | null {
  const responses = isObject(operation.responses) ? operation.responses : {};
  const status = ["200", "2XX", "2xx", "default", "206", "203"].find((each) => isObject(responses[each]));
  const response = status === undefined ? null : followed(views, responses[status] ?? null, base);
  if (!response || !isObject(response.value)) return null;
  const { content, schema, headers } = response.value;
  const json = isObject(content) ? jsonOf(content) : schema;
  const reply = viewOf(views, json, response.base);
  if (!reply) return null;
  const replyHeaders = isObject(headers) ? Object.keys(headers) : [];
  return { reply, linkHeader: linkHeaderOf(views, headers, response.base), replyHeaders };
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
  return {
    segment,
    endsWithParameter: (parts.at(-1) ?? "").endsWith("}"),
    saysList:
      SAYS_LIST.test(snake(ownName)) || LISTED.test(summary) || /^[^.\n]*\blist of\b/i.test(description),
    isCounted,
    isPaged: isCounted || has("size"),
  };
}

const textOf = ({ summary, description }: JsonObject) =>
  [summary, description].filter((text) => typeof text === "string").join(" ");

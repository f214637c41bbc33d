import { AppError, notFound } from "../../base/errors.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { exactJson, withTextNumbers } from "../../base/json-numbers.ts";
import { resolveTemplates } from "../../base/template.ts";
import type { Column } from "../../sql/contract.ts";
import type { HttpAccess, Link } from "../contract.ts";
import type { NamedResource, Tables } from "../contract-tables.ts";
import { type HttpTemplate, withSchemaDefaults } from "./definition.ts";
import { extractHttp } from "./extract.ts";

/** Schema name of all resources in the list of tables. */
const SCHEMA = "http";
/** Number of rows on the first page that columns are inferred from. */
const SEEN_ROWS = 100;

/** The template's resources. With `config` their paths and endpoints are filled in. Throws `template_error`. */
export function namedResources(definition: HttpTemplate, config: JsonObject | null): NamedResource[] {
  const scope = config && { config: withSchemaDefaults(definition.configSchema, config) };
  return (definition.http.resources ?? []).map(({ spec, endpoint = {}, ...resource }) => ({
    ...resource,
    get endpoint() {
      return (scope === null ? endpoint : resolveTemplates(endpoint as JsonObject, scope)) as JsonObject;
    },
    get spec() {
      return scope === null ? spec : String(resolveTemplates(spec, scope, { url: [[]] }));
    },
  }));
}

/** The template's resources as tables. The API doesn't list columns, so they are inferred from rows. */
export function httpTables(definition: HttpTemplate, http: HttpAccess): Tables {
  const first = async (link: Link, schema: string, table: string, limit: number) => {
    const resource = namedResources(definition, link.config).find(({ name }) => name === table);
    if (schema !== SCHEMA || !resource) throw notFound("table");
    const { spec, endpoint } = resource;
    if (endpoint.method === "POST")
      throw new AppError(
        "bad_request",
        "Rows of a POST request can only be shown after they have been loaded.",
      );
    const extraction = await extractHttp(http, link, {
      spec,
      columns: null,
      where: null,
      range: null,
      maxRows: limit + 1,
      batchSize: null,
      endpoint: withoutRange(endpoint),
    });
    const rows: JsonObject[] = [];
    if (extraction.kind !== "rows") return { columns: [], rows, truncated: false };
    for await (const page of extraction.pages) {
      rows.push(...page);
      if (rows.length > limit) break;
    }
    const shown = rows
      .slice(0, limit)
      .map((row) => JSON.parse(withTextNumbers(exactJson(row))) as JsonObject);
    return { columns: columnsOf(shown), rows: shown, truncated: rows.length > limit };
  };
  return {
    tables: async () =>
      (definition.http.resources ?? []).map(({ name, primaryKey }) => ({
        schema: SCHEMA,
        table: name,
        spec: name,
        ...(primaryKey ? { primaryKey } : {}),
      })),
    columns: async (link, schema, table) => (await first(link, schema, table, SEEN_ROWS)).columns,
    first,
  };
}

/** Without a range there is no cursor to filter by. */
const withoutRange = ({ incremental: _, ...endpoint }: JsonObject): JsonObject => endpoint;

/** Ordered as in the rows; `dataType` is the JSON type of the values. */
function columnsOf(rows: readonly JsonObject[]): Column[] {
  const types = new Map<string, Set<string>>();
  for (const row of rows) {
    for (const [name, value] of Object.entries(row)) {
      const seen = types.get(name) ?? new Set();
      types.set(name, seen.add(typeOf(value)));
    }
  }
  return [...types].map(([name, seen]) => {
    const nullable = seen.delete("null") || rows.some((row) => !Object.hasOwn(row, name));
    return { name, dataType: [...seen].join(" or ") || "null", nullable };
  });
}

const typeOf = (value: Json): string =>
  value === null ? "null" : Array.isArray(value) ? "array" : isObject(value) ? "object" : typeof value;

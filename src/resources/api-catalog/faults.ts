import { and, eq } from "drizzle-orm";
import { type Fault, invalid } from "../../base/errors.ts";
import { headerFault } from "../../base/http-message.ts";
import { jmespathFault } from "../../base/jmespath.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { schemaFaults } from "../../base/json-schema.ts";
import { templateFaults } from "../../base/template.ts";
import { apiAddressFault, isSecretName } from "../../catalog/addresses.ts";
import type { Context } from "../../context.ts";
import { connections } from "../connections/table.ts";
import type { ApiType } from "./table.ts";

type Loc = readonly string[];

/** Returns what is wrong with the raw body of a create or update request beyond its shape, as far as it can be read. */
export function catalogFaults(raw: Json): Fault[] {
  if (!isObject(raw)) return [];
  const { baseUrl, url, endpoints, tools } = raw;
  return [
    ...addressFaults(baseUrl, "baseUrl", "http"),
    ...addressFaults(url, "url", "mcp"),
    ...listOf(endpoints).flatMap((item, index) => endpointFaults(item, ["body", "endpoints", String(index)])),
    ...repeated(listOf(endpoints), "name", ["body", "endpoints"]),
    ...repeated(listOf(tools), "upstreamName", ["body", "tools"]),
  ];
}

const listOf = (value: Json | undefined): Json[] => (Array.isArray(value) ? value : []);

export function addressFaults(value: Json | undefined, field: string, type: ApiType): Fault[] {
  const fault = typeof value === "string" && value !== "" ? apiAddressFault(value, type) : null;
  return fault === null ? [] : [{ loc: ["body", field], msg: fault, type: "url_parsing" }];
}

function repeated(items: readonly Json[], field: string, loc: Loc): Fault[] {
  const seen = new Set<Json>();
  return items.flatMap((item, index) => {
    const name = isObject(item) ? item[field] : undefined;
    if (typeof name !== "string" || name === "") return [];
    if (!seen.has(name)) {
      seen.add(name);
      return [];
    }
    const msg = "Duplicate name";
    return [{ loc: [...loc, String(index), field], msg, type: "not_unique" }];
  });
}

function endpointFaults(raw: Json, loc: Loc): Fault[] {
  if (!isObject(raw)) return [];
  const { path, headers, queryTemplate, bodyTemplate, inputSchema, responseExtract } = raw;
  const faults: Fault[] = [];
  const add = (at: Loc, msg: string, type = "value_error") =>
    faults.push({ loc: [...loc, ...at], msg, type });
  if (typeof path === "string") {
    if (/[\s\\?#]|^\w+:|^\/\//.test(path))
      add(["path"], "A path begins with / and has no address, parameters or spaces");
    if (path.includes("{{")) add(["path"], "A path accepts {x} for input.x, but no other templates");
  }
  for (const [name, value] of Object.entries(isObject(headers) ? headers : {})) {
    const fault = headerFault(name, value);
    if (fault) add(["headers", name], fault);
    else if (isSecretName(name))
      add(["headers", name], "Don't put credentials here. Use a connection instead");
  }
  for (const [name, value] of Object.entries(isObject(queryTemplate) ? queryTemplate : {})) {
    if (isSecretName(name) && typeof value === "string" && value !== "" && !value.includes("{{"))
      add(["queryTemplate", name], "Don't put credentials here. Use a connection instead");
  }
  const templates = { headers, queryTemplate, bodyTemplate } as JsonObject;
  for (const [field, value] of Object.entries(templates)) {
    if (value === undefined) continue;
    for (const { path: at, message } of templateFaults(value)) add([field, ...at], message, "template_error");
  }
  if (isObject(inputSchema)) {
    for (const { path: at, message, type } of schemaFaults(inputSchema))
      add(["inputSchema", ...at], message, type);
  }
  const expression =
    typeof responseExtract === "string" && responseExtract !== "" ? jmespathFault(responseExtract) : null;
  if (expression) add(["responseExtract"], expression);
  return faults;
}

/** Throws `InvalidInput` for a connection that is not of this organization. */
export async function checkConnection(ctx: Context, id: string | null | undefined): Promise<void> {
  if (id === null || id === undefined) return;
  const [row] = await ctx.db
    .select({ id: connections.id })
    .from(connections)
    .where(and(eq(connections.organizationId, ctx.organizationId), eq(connections.id, id)));
  if (row) return;
  throw invalid(["body", "connectionId"], "Connection not found", "not_found");
}

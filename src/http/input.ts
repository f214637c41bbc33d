import { type Fault, InvalidInput } from "../base/errors.ts";
import { readExpressions } from "../base/expressions-in.ts";
import { isObject, type JsonObject } from "../base/json.ts";
import { object, read } from "../base/shape.ts";
import type { App, Context } from "../context.ts";
import { readJson } from "./body.ts";
import { readOAuth } from "./oauth.ts";
import type { Operation, Visit } from "./operation.ts";

/** Body of an operation without fields: no bytes, `null` or `{}`. */
const NO_FIELDS = object({});

/** Validates path, query and body, and reports all errors together. */
export async function readInput(
  app: App,
  operation: Operation,
  visit: Visit,
  rawParams: Record<string, string>,
  ctx: Context | null,
) {
  const faults: Fault[] = [];
  const take = <T>({ value, faults: found }: { value: T; faults: Fault[] }): T => {
    faults.push(...found);
    return value;
  };
  const params = operation.params ? take(read(operation.params, rawParams, ["path"])) : {};
  const query = operation.query
    ? take(read(operation.query, queryOf(visit.url), ["query"], { coerce: true }))
    : {};
  const addUnreported = async (raw: JsonObject) => {
    const reported = new Set(faults.map(({ loc }) => loc.join()));
    for (const fault of (await operation.faults?.(app, raw, ctx)) ?? []) {
      if (!reported.has(fault.loc.join())) faults.push(fault);
      reported.add(fault.loc.join());
    }
  };
  if (!operation.body && operation.query) await addUnreported(queryOf(visit.url));
  let body: unknown;
  if (!operation.body && !operation.consumes && operation.method !== "GET") {
    take(read(NO_FIELDS, (await readJson(app, visit)) ?? {}, ["body"]));
  } else if (operation.body && operation.oauth) {
    body = await readOAuth(app, visit, operation.body);
  } else if (operation.body) {
    const raw = await readJson(app, visit, operation);
    if (raw !== undefined && !operation.takesData) await readExpressions(raw);
    if (raw === undefined && !operation.bodyOptional) {
      faults.push({ loc: ["body"], msg: "A JSON body is required", type: "missing" });
    } else {
      const bodyValue = raw ?? (operation.bodyOptional ? {} : null);
      body = take(read(operation.body, bodyValue, ["body"]));
      if (isObject(bodyValue)) await addUnreported(bodyValue);
    }
  }
  if (faults.length > 0) throw new InvalidInput(faults);
  return { params, query, body };
}

/** A parameter is a string, or a list if it is repeated. */
function queryOf(url: URL): Record<string, string | string[]> {
  const query: Record<string, string | string[]> = Object.create(null);
  if (url.search === "") return query;
  for (const [name, value] of url.searchParams) {
    const before = query[name];
    query[name] = before === undefined ? value : Array.isArray(before) ? [...before, value] : [before, value];
  }
  return query;
}

import { type Fault, InvalidInput } from "../base/errors.ts";
import { readExpressions } from "../base/expressions-in.ts";
import { isObject, type JsonObject } from "../base/json.ts";
import { object, read } from "../base/shape.ts";
import type { App, Context } from "../context.ts";
import { readJson } from "./body.ts";
import { keyFaults } from "./idempotency.ts";
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
  const addUnreported = (found: readonly Fault[]) => {
    const reported = new Set(faults.map(({ loc }) => loc.join()));
    for (const fault of found) {
      if (!reported.has(fault.loc.join())) faults.push(fault);
      reported.add(fault.loc.join());
    }
  };
  const faultsOf = async (raw: JsonObject) => (await operation.faults?.(app, raw, ctx)) ?? [];
  if (!operation.body && operation.query) addUnreported(await faultsOf(queryOf(visit.url)));
  let rawBody: JsonObject = {};
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
      if (isObject(bodyValue)) {
        rawBody = bodyValue;
        addUnreported(await faultsOf(bodyValue));
      }
    }
  }
  if (faults.length === 0) return { params, query, body };
  if (operation.idempotent) faults.push(...keyFaults(visit.request.headers.get("idempotency-key")));
  if (ctx && operation.furtherFaults)
    addUnreported(await operation.furtherFaults({ ctx, visit, params: rawParams, raw: rawBody }));
  throw new InvalidInput(faults);
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

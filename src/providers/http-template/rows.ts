import { AppError } from "../../base/errors.ts";
import { hideSecrets } from "../../base/hide.ts";
import { jmespathFault } from "../../base/jmespath.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { type Asking, errorTextIn } from "./ask.ts";
import type { Endpoint } from "./endpoint.ts";
import { listPathOf } from "./list.ts";
import { FIELD_PATH, type PageBody, searchPage } from "./search.ts";

/** Error in a response with a successful status. Null if there is none. */
export function errorIn(body: Json, dataPath: string, secrets: readonly string[]): string | null {
  if (!isObject(body)) return null;
  for (const name of ["errors", "error"]) {
    const error = Object.hasOwn(body, name) ? body[name] : null;
    const isSaid = isObject(error) ? Object.keys(error).length > 0 : Array.isArray(error) && error.length > 0;
    if (new RegExp(`^${name}\\b`).test(dataPath)) continue; // this is the list to read
    if (isSaid || (typeof error === "string" && error !== ""))
      return errorTextIn(error, secrets) || "no message";
  }
  return body.ok === false ? "it says that it is not ok" : null;
}

/** The path of a response's rows; null if `dataPath` isn't a plain path or something else needs the rows parsed. */
export function listFieldOf({ dataPath, totalPath, paginator }: Endpoint): string[] | null {
  const { nextPath, cursorPath, hasNextPath } = (paginator ?? {}) as Record<string, unknown>;
  const others = [totalPath, nextPath, cursorPath, hasNextPath].filter((path) => typeof path === "string");
  const isPlain = [...(dataPath === undefined ? [] : [dataPath]), ...others].every((path) =>
    FIELD_PATH.test(path),
  );
  if (!isPlain) return null;
  if (dataPath === undefined) return [];
  const looksInto = others.some((path) => `${path}.`.startsWith(`${dataPath}.`));
  return looksInto ? null : dataPath.split(".");
}

/** The rows of a response, and the number of items that they were made from. */
export async function rowsIn(asking: Asking, page: PageBody): Promise<{ rows: JsonObject[]; items: number }> {
  const { body } = page;
  const { endpoint, system, spec, link, secrets } = asking;
  const { dataPath } = endpoint;
  const found = dataPath === undefined ? body : await searchPage(link, page, dataPath);
  if (dataPath !== undefined && isObject(found)) return { rows: [found], items: 1 };
  if (!Array.isArray(found)) throw noRows(system, spec, dataPath, body, found, secrets);
  const listPath = dataPath === undefined ? null : listPathOf(dataPath);
  const list = listPath === null || jmespathFault(listPath) ? found : await searchPage(link, page, listPath);
  const rows = found.filter((item) => item !== null);
  if (rows.length < found.length)
    link.warn?.(`${found.length - rows.length} items were null. They were omitted.`, { isPartial: true });
  return {
    rows: rows.map((item) => (isObject(item) ? item : { value: item })),
    items: Array.isArray(list) ? list.length : found.length,
  };
}

function noRows(
  system: string,
  spec: string,
  dataPath: string | undefined,
  body: Json,
  found: Json,
  secrets: readonly string[],
): AppError {
  const fields = isObject(body)
    ? hideSecrets(Object.keys(body).slice(0, 20).join(", "), secrets).slice(0, 500)
    : "";
  const shape = isObject(body)
    ? `an object with ${fields === "" ? "no fields" : fields}`
    : Array.isArray(body)
      ? "a list"
      : "neither a list nor an object";
  const error =
    isObject(body) && (body.error !== undefined || body.errors !== undefined)
      ? errorTextIn(body, secrets)
      : "";
  const reason = error === "" ? "" : ` It says: ${error}`;
  if (dataPath === undefined) {
    const hint = `give dataPath, a JMESPath to its rows${isObject(body) ? ", or @ where it is one row itself" : ""}`;
    return new AppError(
      "upstream",
      `The reply of ${system} for ${spec} is not a list but ${shape}; ${hint}.${reason}`,
    );
  }
  const what = found === null ? "nothing" : "neither a list nor an object";
  const hint =
    found === null && error === ""
      ? ` Where an empty list may be left out, write ${JSON.stringify(`${dataPath} || \`[]\``)}.`
      : "";
  return new AppError(
    "upstream",
    `At dataPath ${JSON.stringify(dataPath)} the reply of ${system} for ${spec} has ${what}; it is ${shape}.${reason}${hint}`,
    { details: { dataPath } },
  );
}

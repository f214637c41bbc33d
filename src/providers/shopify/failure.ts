import { AppError } from "../../base/errors.ts";
import { isObject, type JsonObject } from "../../base/json.ts";
import { type ShopifyConfig, shopOf } from "./shape.ts";

/** One entry of a GraphQL response's `errors`. */
export interface GraphError {
  message: string;
  code: string;
  /** Names only, without positions and connection wrappers; the first is the query's root field. */
  path: string[];
  extensions: JsonObject;
}

const PASSING = /^(INTERNAL_SERVER_ERROR|SERVICE_UNAVAILABLE|TIMEOUT|BAD_GATEWAY)$/;
const WRAPPERS = new Set(["nodes", "edges", "node"]);

export function graphErrors(body: JsonObject): GraphError[] {
  const { errors } = body;
  if (typeof errors === "string") return [{ message: errors, code: "", path: [], extensions: {} }];
  if (!Array.isArray(errors)) return [];
  return errors.filter(isObject).map(({ message, path, extensions }) => {
    const more = isObject(extensions) ? extensions : {};
    return {
      message: typeof message === "string" ? message : "",
      code: typeof more.code === "string" ? more.code : "",
      path: (Array.isArray(path) ? path : []).filter(
        (step): step is string =>
          typeof step === "string" && !WRAPPERS.has(step) && !/^(query|mutation)\b/.test(step),
      ),
      extensions: more,
    };
  });
}

export const isDenied = ({ code, message }: GraphError): boolean =>
  code === "ACCESS_DENIED" || /access denied|not approved to access/i.test(message);

/** The scope that an error requires, such as `read_orders`. */
export const scopeIn = ({ message, extensions }: GraphError): string | null =>
  /\b((?:read|write)_[a-z_]+)\b/.exec(`${extensions.requiredAccess ?? ""} ${message}`)?.[1] ?? null;

export const missingScope = (what: string, scope: string, cause?: unknown): AppError =>
  new AppError("upstream", `This access token can't read ${what}: missing scope ${scope}.`, {
    details: { missingScope: scope },
    cause,
  });

/** The error for a status other than 200, in a sentence that says what to change; null for 429, which is temporary. */
export function statusFailure(config: ShopifyConfig, status: number, text: string): AppError | null {
  const shop = shopOf(config);
  const make = (message: string, retryable = false) =>
    new AppError("upstream", message, { retryable, cause: { status, text: text.slice(0, 500) } });
  if (status === 429) return null;
  if (status === 401)
    return make(
      `Shopify: access token rejected by ${shop} (401). Check accessToken, or clientId and clientSecret.`,
    );
  if (status === 402) return make(`The shop ${shop} is frozen because of an unpaid bill (402).`);
  if (status === 403) {
    return make(
      `Shopify: access token rejected by ${shop} (403). The app isn't allowed to use the Admin API of this shop.`,
    );
  }
  if (status === 404) {
    return make(
      `There is no shop ${shop} at this address, or no such apiVersion; check shopDomain and apiVersion.`,
    );
  }
  if (status === 423) return make(`The shop ${shop} is locked (423).`);
  if (status >= 300 && status < 400) {
    return make(
      `${shop} is not the shop's own address: it answered with a redirect (${status}). Check shopDomain.`,
    );
  }
  if (status >= 500 || status === 408) {
    return make(`Shopify is busy or failing: it returned ${status}.`, true);
  }
  return make(`Shopify returned ${status} for a query of the shop ${shop}.`);
}

/** The error for query errors that omitting fields can't fix. */
export function queryFailure(errors: readonly GraphError[]): AppError {
  const [first] = errors;
  const cause = { errors };
  if (!first || PASSING.test(first.code) || /^internal error|went wrong/i.test(first.message)) {
    return new AppError("upstream", "Shopify failed to answer a query. Another attempt may succeed.", {
      retryable: true,
      cause,
    });
  }
  const message = first.message.replaceAll(/\s+/g, " ").slice(0, 300);
  return new AppError("upstream", `Shopify refused the query: ${message}`, { cause });
}

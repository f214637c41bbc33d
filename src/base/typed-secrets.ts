import { canonicalJson, isObject, type Json, type JsonObject } from "./json.ts";
import { isSecretKey, isSecretParameter, MASK } from "./mask.ts";

type Path = readonly string[];

const TEMPLATE = /\{\{[^{}]*\}\}/g;
/** String literals of expressions, and names of functions. */
const LITERAL = /'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"/g;
const CALLED = /[\w.]+(?=\()/g;
/** A URL parameter with a literal value. */
const PARAMETER = /([?&#])([^=&#]{1,100})=([^&#]+)/g;
/** A user and a password, or a token, before the host of a URL. Braces of templates can contain anything. */
const USER_INFO = /^(https?:[\\/]{2,})((?:\{\{[^{}]*\}\}|[^/?#\\{]|\{(?!\{))*)@/i;
const ADDRESS = /^(?:https?:\/\/|\/)/i;
/** Fields of a form as one text. */
const FORM = /^[\w.%[\]-]{1,100}=[^&\s]*(?:&[\w.%[\]-]{1,100}=[^&\s]*)*$/;
/** Value of an Authorization header, in a header of any name. */
const CREDENTIAL = /^(?:Bearer|Basic) +[\w.~+/=-]{8,}$/i;
/** Fields whose names are names of URL parameters. */
const PARAMETERS = ["query", "params"];

/**
 * Returns where a definition contains a literal secret: in a field, header or parameter with a secret's name, in a URL,
 * and private keys and Weir's own tokens anywhere. A template that reads a secret isn't one.
 */
export function typedSecrets(definition: Json): Path[] {
  const found: Path[] = [];
  mapScalars(definition, (value, path) => {
    if (maskAt(value, path, "") !== value) found.push(path); // a typed mask is not a secret
    return value;
  });
  return found;
}

/** Returns a copy with `***` at these paths. */
export const maskTyped = (definition: JsonObject): JsonObject =>
  mapScalars(definition, (value, path) => maskAt(value, path)) as JsonObject;

/** Returns a copy of `next` with masked values restored from `before`. */
export function keepTyped(next: Json, before: Json | undefined): Json {
  return mapScalars(next, (value, path) => {
    if (typeof value !== "string" || !value.includes(MASK)) return value;
    const earlier = valueAt(before, path);
    return earlier !== undefined && !isNested(earlier) && maskAt(earlier, path) === value ? earlier : value;
  });
}

/** Paths of secrets that `before` doesn't have with the same value. */
export const newlyTyped = (next: Json, before: Json | undefined): Path[] =>
  typedSecrets(next).filter((path) => valueAt(next, path) !== valueAt(before, path));

function maskAt(value: Json, path: Path, mask = MASK): Json {
  if (typeof value === "number") return isNamedSecret(path) && !/tokens$/i.test(nameOf(path)) ? mask : value;
  if (typeof value !== "string" || value === "") return value;
  if (/-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----/.test(value) || /\bsvc_(pat|at|key)_[\w-]{8}/.test(value))
    return mask;
  if (isNamedSecret(path)) return isWritten(value) ? mask : value;
  if (path.includes("headers") && CREDENTIAL.test(value)) return mask;
  const constant = value.includes("{{") ? value.replace(TEMPLATE, literalsOf) : value;
  if (constant !== value) return maskAt(constant, path, mask) === constant ? value : mask;
  if (ADDRESS.test(value) && !value.includes("\n")) return maskAddress(value, mask);
  return nameOf(path) === "body" ? maskBody(value, mask) : value;
}

/** Masks a body that is one text: the fields of its form or JSON. */
function maskBody(text: string, mask: string): string {
  if (FORM.test(text))
    return text.replaceAll(/(^|&)([^=&]+)=([^&]+)/g, (whole, before, name, value) =>
      isSecretKey(name) && isWritten(value) ? `${before}${name}=${mask}` : whole,
    );
  const fields = /^\s*[[{]/.test(text) ? parsed(text) : undefined;
  if (fields === undefined) return text;
  const masked = mapScalars(fields, (value, path) => maskAt(value, path, mask));
  return canonicalJson(masked) === canonicalJson(fields) ? text : JSON.stringify(masked);
}

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // plain text
  }
}

const maskAddress = (address: string, mask: string): string =>
  address
    .replace(USER_INFO, (whole, scheme, user) =>
      isWritten(user.replaceAll(/:(?=\{\{|$)/g, "")) ? `${scheme}${mask}@` : whole,
    )
    .replace(PARAMETER, (whole, before, name, value) =>
      isSecretParameter(name) && isWritten(value) ? `${before}${name}=${mask}` : whole,
    );

const nameOf = (path: Path): string => path.findLast((step) => !/^\d+$/.test(step)) ?? "";

function isNamedSecret(path: Path): boolean {
  const name = nameOf(path);
  return isSecretKey(name) || (path.some((step) => PARAMETERS.includes(step)) && isSecretParameter(name));
}

/** The texts in a template that reads nothing, such as `{{'Bearer ' + 'x'}}`. Other templates stay. */
function literalsOf(template: string): string {
  const literals = template.match(LITERAL) ?? [];
  const rest = template.replace(LITERAL, "").replace(CALLED, "");
  return literals.length === 0 || /[a-z_]/i.test(rest)
    ? template
    : literals.map((text) => text.slice(1, -1)).join("");
}

/** Returns whether a text has more than templates that read something, and a scheme before them. */
function isWritten(text: string): boolean {
  const rest = text.replace(TEMPLATE, literalsOf).replace(TEMPLATE, "").trim();
  return rest !== "" && !(rest !== text.trim() && /^(Bearer|Basic|Token|Digest|ApiKey)$/i.test(rest));
}

function mapScalars(value: Json, change: (value: Json, path: Path) => Json, path: Path = []): Json {
  if (Array.isArray(value)) return value.map((item, at) => mapScalars(item, change, [...path, String(at)]));
  if (!isObject(value)) return change(value, path);
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, mapScalars(item, change, [...path, key])]),
  );
}

const isNested = (value: Json) => typeof value === "object" && value !== null;

function valueAt(value: Json | undefined, path: Path): Json | undefined {
  return path.reduce<Json | undefined>((found, step) => {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, step)) return undefined;
    return (found as JsonObject)[step];
  }, value);
}

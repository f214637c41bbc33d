import { isObject, type JsonObject } from "../../base/json.ts";
import { type Inputs, STYLE } from "../openapi-inputs.ts";
import { PARAMETERS, plainName } from "./words.ts";

/** One query parameter, under its name in the API. */
export interface QueryParameter {
  name: string;
  schema: JsonObject;
  description: string;
  isRequired: boolean;
}

/** The query parameters; the fields of an exploded object are separate, as in `page[size]`. */
export function queryParameters(inputs: Inputs): QueryParameter[] {
  return [...inputs.owners].flatMap(([owner, argument]) => {
    const [, name] = /^query:(.*)$/s.exec(owner) ?? [];
    const schema = inputs.properties[argument];
    if (name === undefined || !isObject(schema)) return [];
    const isRequired = inputs.required.includes(argument);
    const isSpread = schema[STYLE] === "deepObject" && isObject(schema.properties);
    if (!isSpread) return [parameter(name, schema, isRequired)];
    const required = Array.isArray(schema.required) ? schema.required : [];
    return Object.entries(schema.properties as JsonObject).map(([field, inner]) =>
      parameter(`${name}[${field}]`, isObject(inner) ? inner : {}, isRequired && required.includes(field)),
    );
  });
}

/** The optional header parameters. */
export const headerParameters = (inputs: Inputs): QueryParameter[] =>
  [...inputs.owners].flatMap(([owner, argument]) => {
    const [, name] = /^header:(.*)$/s.exec(owner) ?? [];
    const schema = inputs.properties[argument];
    const isAsked = inputs.required.includes(argument);
    return name === undefined || isAsked || !isObject(schema) ? [] : [parameter(name, schema, false)];
  });

const parameter = (name: string, schema: JsonObject, isRequired: boolean): QueryParameter => ({
  name,
  schema,
  description: typeof schema.description === "string" ? schema.description : "",
  isRequired,
});

export type Role = keyof typeof PARAMETERS;

/** Whether a parameter's name has this role; `page[size]` and `page_size` are the same. */
export function hasRole(parameter: QueryParameter, role: Role): boolean {
  const { name, schema } = parameter;
  const plain = plainName(name);
  if (role !== "other" && (isList(schema) || isTime(parameter, plain))) return false;
  if (role === "page" && OF_A_DOCUMENT.test(parameter.description)) return false;
  return PARAMETERS[role].has(plain) || (plain.startsWith("page") && PARAMETERS[role].has(plain.slice(4)));
}

/** Mentions of a page of a document, not of the list. */
const OF_A_DOCUMENT =
  /\b(?:on|of|in|from) (?:this|that|the given) page\b|\bpages? (?:of|in) (?:the|a) (?:document|book|file|pdf)\b/i;

/** Names that are also used for time bounds. */
const AMBIGUOUS =
  /^(?:from|since|start|after|before|last|next|startafter|startfrom|startat|sinceid|pagestart)$/;

const isTime = ({ schema: { format }, description }: QueryParameter, plain: string): boolean =>
  format === "date" ||
  format === "date-time" ||
  (AMBIGUOUS.test(plain) &&
    /\b(?:dates?|time|timestamp|datetime|ISO ?8601|epoch|unix|day|month|year)\b/i.test(
      description.replace(/at a time/gi, ""),
    ));

const isList = ({ type }: JsonObject) => [type].flat().some((each) => each === "array" || each === "object");

/** Whether it takes integers. */
export const isWhole = ({ schema: { type } }: QueryParameter): boolean => {
  const types = [type].flat().filter((each) => each !== "null");
  return types.length === 1 && (types[0] === "integer" || types[0] === "number");
};

/** Whether it takes strings. */
export const isTextual = ({ schema: { type } }: QueryParameter): boolean =>
  type === undefined || [type].flat().includes("string");

export const numberIn = ({ schema }: QueryParameter, key: "default" | "minimum" | "maximum") => {
  const value = schema[key];
  const number = typeof value === "string" && /^\d{1,9}$/.test(value) ? Number(value) : value;
  return typeof number === "number" && Number.isSafeInteger(number) ? number : null;
};

const PAGED_NAME =
  /page|limit|offset|cursor|^range$|(?:^|[$_-])skip$|marker|continu|(?:^|[_-])next|max.?results|per.?page|(?:^|[_-])(?:size|count|position|number|num|top|first|take)$|start.?(?:at|index|from|position|key|row)|(?:first|start|last|max|num|number|top|row|record|result|item)s?[_-]?(?:of[_-]?)?(?:rows?|records?|results?|items?|entries|count|index)/i;
const PAGED_TEXT =
  /\b(?:max(?:imum|\.)?|limit (?:on|for|of)|limits? the (?:number|amount)|number of|how many|at most|up to)\b[^.]{0,40}\b(?:results?|items?|records?|rows?|entries|elements|objects|hits|matches|to (?:return|fetch|retrieve))\b|\bpaginat|\bper page\b|\bnext page\b/i;

/** Numbered parts of a list. */
const NUMBERED =
  /^(?:p|pg|pn|index|idx|chunk|batch|block|slice|segment|window|portion|part|round|seq|sequence)$/;
/** Rows before or after a given one. */
const BOUND =
  /^(?:before|after|older|newer|until|prev|previous|last|max|min|since|start|end|from)(?:than)?(?:seen)?(?:id|key)$|^(?:before|after|older|newer)(?:than)?$/;
const NUMBERED_TEXT =
  /\bpage (?:number|index|no\b|to (?:return|fetch|retrieve|get|show|load|start))|\b(?:which|number of the|index of the) page\b|\b(?:chunk|batch|window|slice|portion|block)s? of (?:the )?(?:results?|items?|records?|rows?|entries|elements|objects)\b/i;
const BOUND_TEXT =
  /\b(?:after|before|older than|newer than|greater than|less than|lower than|higher than|beyond|preceding|following)\b[^.]{0,20}\b(?:this|the (?:given|specified|provided|supplied|last))\b[^.]{0,25}\b(?:ids?|identifier|items?|records?|rows?|message|entry|post|sequence|number|key|token|element|object|position)\b/i;

/** Whether it mentions pages at all. */
export function speaksOfPages(parameter: QueryParameter): boolean {
  const { name, description, schema } = parameter;
  if (PAGED_NAME.test(name)) return true;
  if (isList(schema)) return false;
  const plain = plainName(name);
  return (
    [PAGED_TEXT, NUMBERED_TEXT, BOUND_TEXT].some((text) => text.test(description)) ||
    (isWhole(parameter) && NUMBERED.test(plain)) ||
    (BOUND.test(plain) && schema.format !== "date" && schema.format !== "date-time")
  );
}

/** Whether the path contains the page, as in `/orders/page/{page}`. */
export const isPagedPath = (path: string): boolean =>
  /\{(?:page|page_?(?:number|num|no|size|index)|offset|limit|skip|start|first|last|count|cursor|per_?page|from|size)\}|\/(?:page|offset|limit|skip|start|from)\/\{(?![^}]*(?:id|slug|name|title|key)\})[^}]+\}/i.test(
    path,
  );

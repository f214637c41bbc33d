import type { Unresolved } from "../contract.ts";
import { hasRole, type QueryParameter } from "./parameters.ts";
import { isCount, isText, type View } from "./view.ts";
import { plainName, singular } from "./words.ts";

/** The primary key of rows: a field that is unmistakably the item's own ID. */
export function findKey(item: View | null, segment: string): { primaryKey: string[] } | Unresolved {
  const field = "primaryKey";
  const fields = [...(item?.fields() ?? [])].filter(([, view]) => isText(view) || isCount(view));
  if (item === null || item.fields().size === 0)
    return {
      field,
      message: "It doesn't describe the fields of a row. Name those of the key.",
      candidates: [],
    };
  const own = singular(segment);
  const sure = [
    (plain: string) => plain === "id",
    (plain: string) => plain === `${own}id`,
    (plain: string) => plain === "uuid" || plain === "guid" || plain === "uid" || plain === `${own}uuid`,
    (plain: string) => plain === "gid" || plain === "sid",
  ];
  const isOfStates = STATES.some(
    ([lists, state]) => lists.test(own) && fields.some(([name]) => state.test(plainName(name))),
  );
  for (const isKey of isOfStates ? [] : sure) {
    const found = fields.filter(([name, view]) => isKey(plainName(name)) && isOwn(name, view));
    const [[name] = []] = found;
    if (name !== undefined && found.length === 1) return { primaryKey: [name] };
  }
  const candidates = fields
    .map(([name]) => name)
    .filter((name) => /(?:id|uuid|key|code|slug|number)$/i.test(name));
  return {
    field,
    message: "It doesn't say which fields identify a row. Without them rows are appended, not merged.",
    candidates,
  };
}

/** Lists in which one item occurs several times, once per version, date or language. */
const STATES = [
  [
    /^(?:version|revision|history|change|changelog|snapshot|audit)$/,
    /^(?:version|revision)(?:id|number|no)?$/,
  ],
  [/^(?:history|snapshot)$/, /^(?:date|day|time|timestamp|period|month|year|asof)$/],
  [/^(?:translation|localization|localisation)$/, /^(?:locale|lang|language|languagecode)$/],
] as const;

/** `uid`, `gid` and `sid` also name users and groups; they are a key only if the description says so. */
const isOwn = (name: string, { description }: View): boolean =>
  !/^(?:uid|gid|sid)$/.test(plainName(name)) || /\bunique|\bidentif|\bIDs?\b/i.test(description);

const CHANGED =
  /^(?:last)?(?:updated|modified|changed|update|modification)(?:at|date|on|time|datetime|timestamp|since)?(?:utc)?$/;
const SINCE =
  /^(?:last|filter|min)?(?:updated|modified|changed|update)(?:at|date|on|time|datetime)?(?:since|after|from|start|gte|gt|min|begin|ge)$|^(?:since|from|min|start)(?:last)?(?:updated|modified|changed|update)(?:at|date|on|time)?$|^if?modifiedsince$/;

/** How to request changed items only: one parameter and one field that both refer to changes. */
export function findChanges(item: View | null, parameters: readonly QueryParameter[]) {
  const fields = [...(item?.fields() ?? [])].filter(([name]) => CHANGED.test(plainName(name)));
  const since = parameters.filter(
    (each) => !hasRole(each, "page") && (SINCE.test(plainName(each.name)) || isSaidSince(each)),
  );
  const [field, ...otherFields] = fields;
  const [parameter, ...otherParameters] = since;
  if (!field || !parameter || otherFields.length > 0 || otherParameters.length > 0) return null;
  const [cursorField, view] = field;
  const format = formatOf(parameter);
  if (format === null || !isText(view) !== format.startsWith("epoch")) return null;
  // some APIs return only values later than the given one
  const incremental = { cursorField, lagSeconds: format === "date" ? 86_400 : 1 };
  return { incremental, endpoint: { startParam: parameter.name, format } } as const;
}

/** A parameter with another name whose description says that it filters by time of change. */
const isSaidSince = ({ name, description, schema }: QueryParameter) =>
  /^(?:since|after|from)$/.test(plainName(name)) &&
  schema.format === "date-time" &&
  /\b(?:last )?(?:updated|modified|changed)\b[^.]{0,30}\b(?:after|since|at or after|on or after)\b/i.test(
    description,
  );

function formatOf({ schema, description }: QueryParameter): "iso" | "date" | "epoch_s" | "epoch_ms" | null {
  const types = [schema.type].flat();
  if (types.includes("string"))
    return schema.format === "date-time" ? "iso" : schema.format === "date" ? "date" : null;
  if (!types.includes("integer")) return null;
  if (/millisecond|\bms\b/i.test(description)) return "epoch_ms";
  return /\bseconds\b|unix (?:time|epoch)/i.test(description) ? "epoch_s" : null;
}

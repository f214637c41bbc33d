import { isList, isRecord, type View } from "./view.ts";
import { ASIDE, CONTAINERS, FIELDS, plainName, singular, WRAPPERS } from "./words.ts";

/** A list in a response. */
export interface RowsPath {
  /** Path to the list; empty if the response itself is the list. */
  names: readonly string[];
  /** Null if its rows aren't described. */
  item: View | null;
}

/** Where the rows are: in one place, in one of several, or nowhere. */
export type FoundRows =
  | { kind: "one"; rows: RowsPath }
  | { kind: "several"; candidates: RowsPath[] }
  | { kind: "none" };

const MAX_DEPTH = 3;

/** What an operation is called, in lower case, words separated by spaces. */
export interface Called {
  /** The last literal part of the path. */
  segment: string;
  endsWithParameter: boolean;
  /** True if its name, such as `listOrders`, says that it is a list. */
  saysList: boolean;
  isPaged: boolean;
  /** True if it is paginated by page number. */
  isCounted: boolean;
}

/** Finds the rows of a response by its fields and by the operation's name. */
export function findRows(reply: View, called: Called): FoundRows {
  if (isList(reply)) return { kind: "one", rows: { names: [], item: reply.items() } };
  if (!isRecord(reply)) return { kind: "none" };
  const lists = listsIn(reply, [], 0);
  if (lists.length === 0) return deepRows(reply, called);
  const isOwn = (list: RowsPath) => singular(list.names.at(-1) ?? "") === singular(called.segment);
  const own = sole(lists.filter(isOwn));
  const isClear = called.saysList || called.isPaged;
  if (called.endsWithParameter && !called.isPaged) return { kind: "none" };
  const wrapped = sole(lists.filter(({ names }) => names.every((name) => WRAPPERS.has(plainName(name)))));
  const beside = besideOf(reply, lists);
  const isEnvelope = beside.every((name) => isOfEnvelope(name));
  if (!isClear && !isEnvelope && !own) return { kind: "none" };
  const [first] = lists;
  if (lists.length === 1 && first) {
    const isSure =
      isEnvelope || isOwn(first) || wrapped !== null || called.isCounted || isNamedAlike(first, called);
    return isSure ? { kind: "one", rows: first } : { kind: "several", candidates: lists };
  }
  const chosen = own ?? wrapped;
  // with both a wrapper and a list of the operation's own name, either may have the rows
  if (chosen && (own === null || wrapped === null || own === wrapped)) return { kind: "one", rows: chosen };
  return { kind: "several", candidates: lists };
}

/** Rows nested in metadata, such as `meta.components`; only if they have the operation's name. */
function deepRows(reply: View, { segment, endsWithParameter }: Called): FoundRows {
  if (endsWithParameter) return { kind: "none" };
  const lists = [...reply.fields()].flatMap(([name, field]) =>
    isRecord(field) && CONTAINERS.has(plainName(name)) ? listsIn(field, [name], MAX_DEPTH - 1) : [],
  );
  const rows = sole(lists.filter(({ names }) => singular(names.at(-1) ?? "") === singular(segment)));
  return rows ? { kind: "one", rows } : { kind: "none" };
}

const sole = <T>(list: readonly T[]): T | null => (list.length === 1 ? (list[0] as T) : null);

const isNamedAlike = ({ names }: RowsPath, { segment }: Called) => {
  const [name, own] = [singular(names.at(-1) ?? ""), singular(segment)];
  return own.length > 2 && name.length > 2 && (name.endsWith(own) || own.endsWith(name));
};

/** Fields next to the lists and next to their containers. */
function besideOf(reply: View, lists: readonly RowsPath[]): string[] {
  const beside: string[] = [];
  const walk = (view: View, ways: readonly (readonly string[])[]) => {
    const heads = new Set(ways.map(([head]) => head));
    for (const [name, field] of view.fields()) {
      if (!heads.has(name)) beside.push(name);
      else if (isRecord(field))
        walk(
          field,
          ways.filter(([head]) => head === name).map(([, ...rest]) => rest),
        );
    }
  };
  walk(
    reply,
    lists.map(({ names }) => names),
  );
  return beside;
}

const isOfEnvelope = (name: string) => {
  const plain = plainName(name);
  return (
    Object.values(FIELDS).some((words) => words.has(plain)) ||
    ASIDE.has(plain) ||
    /^(meta|pagination|paging|pageinfo|cursors?|self|object|kind|type|status|code|success|ok|request|requestid|etag|url|href|count|size|responsemetadata|version|timestamp|context|length|first|last|found|querytime|took|statuscode|description|odatacontext|odatacount|itemsperpage|startindex|schemas|total.*|num.*|number.*|page.*|.*count|result.*info|.*metadata|jsonapi|trace|traceid|copyright|api|attribution.*|disclaimer|time|date|query|filter|sort|order|orderby)$/.test(
      plain,
    )
  );
};

function listsIn(view: View, names: readonly string[], depth: number): RowsPath[] {
  const found: RowsPath[] = [];
  for (const [name, field] of view.fields()) {
    const plain = plainName(name);
    const isAside = ASIDE.has(plain) || /^(?:warning|error)|(?:messages|errors|warnings)$/.test(plain);
    if (isAside && !(depth === 0 && view.fields().size === 1)) continue;
    if (isList(field)) found.push({ names: [...names, name], item: field.items() });
    else if (
      isRecord(field) &&
      depth + 1 < MAX_DEPTH &&
      (WRAPPERS.has(plain) || depth > 0 || isWrapped(view, field))
    )
      found.push(...listsIn(field, [...names, name], depth + 1));
  }
  return found;
}

/** A response with a single field wraps its value; a record with fields of its own isn't a wrapper. */
const isWrapped = (view: View, field: View) =>
  view.fields().size === 1 &&
  [...field.fields()].every(([name, inner]) => isList(inner) || isOfEnvelope(name));

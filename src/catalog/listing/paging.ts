import type { Json } from "../../base/json.ts";
import type { Paginator } from "../../providers/http-template/endpoint.ts";
import { isSize, offsetOf, sizeOf, startOf } from "./counts.ts";
import {
  hasRole,
  isPagedPath,
  isTextual,
  isWhole,
  type QueryParameter,
  speaksOfPages,
} from "./parameters.ts";
import type { RowsPath } from "./rows.ts";
import { isCount, isFlag, isList, isRecord, isText, type View } from "./view.ts";
import { CONTAINERS, FIELDS, plainName } from "./words.ts";

/** How a list is paginated, with the settings that the description leaves open. */
export type FoundPaging =
  | { kind: "known"; paginator: Paginator; totalPath: string | null; uses: string[] }
  | { kind: "open"; message: string; candidates: Json[]; uses: string[] };

interface Field {
  names: readonly string[];
  plain: string;
  view: View;
}

/** What is known about one list. */
export interface ListFacts {
  reply: View;
  rows: RowsPath;
  parameters: readonly QueryParameter[];
  /** Optional header parameters. */
  headers: readonly QueryParameter[];
  /** Description of the `Link` header; null if it isn't mentioned. */
  linkHeader: string | null;
  /** Names of the response headers. */
  replyHeaders: readonly string[];
  /** Description of the operation. */
  description: string;
  path: string;
}

/** Finds out how a list is paginated; `open` if the description allows more than one answer. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: one decision, whose order is what matters
export function findPaging(facts: ListFacts): FoundPaging {
  const { parameters } = facts;
  const fields = fieldsBeside(facts);
  const of = (role: Parameters<typeof hasRole>[1]) => parameters.filter((each) => hasRole(each, role));
  const size = sizeOf(of("size"));
  const paged = ["page", "offset", "cursor", "size", "other"] as const;
  const isUsed = (role: (typeof paged)[number]) => of(role).filter((each) => role !== "size" || isSize(each));
  const uses = [...new Set(paged.flatMap((role) => isUsed(role).map(({ name }) => name)))];
  const more = fields.find(({ plain, view }) => FIELDS.more.has(plain) && isFlag(view));
  const last = fields.find(({ plain, view }) => FIELDS.last.has(plain) && isFlag(view));
  const hasNextPath = more ? pathOf(more.names) : last ? `!${pathOf(last.names)}` : null;
  const ends = hasNextPath === null ? {} : { hasNextPath };
  const totalPath = totalOf(fields);
  const known = (paginator: Paginator): FoundPaging => ({ kind: "known", paginator, totalPath, uses });
  const open = (message: string, candidates: Json[] = []): FoundPaging => ({
    kind: "open",
    message,
    candidates,
    uses,
  });

  if (isPagedPath(facts.path)) return open("The page is part of its path, which paginators don't support.");
  if (facts.linkHeader !== null) {
    if (uses.length > 0 || /next|pag/i.test(facts.linkHeader)) return known({ type: "link_header", ...size });
    return open("It mentions the Link header, but not where it links to.", [{ type: "link_header" }]);
  }
  const links = fields.filter(isLink);
  const cursors = fields.filter((field) => isCursor(field) && !links.includes(field));
  const page = pick(of("page").filter(isWhole));
  const offset = pick(of("offset").filter(isWhole));
  const asking = [...of("cursor"), ...of("page").filter((each) => !isWhole(each))];
  const cursorParameters = asking.filter(
    (each) => each !== page && each !== offset && (isTextual(each) || isWhole(each)),
  );
  const clear = cursorParameters.filter(({ name }) => !VAGUE.has(plainName(name)));
  const isAnswered = ({ name }: QueryParameter) => cursors.some(({ plain }) => plain === plainName(name));
  const others = cursorParameters.filter((each) => isTextual(each) || isAnswered(each));
  const param = pick(clear.length > 0 ? clear : others) ?? pick(clear.filter(isAnswered));

  if (param && cursors.length > 0) {
    const field = matching(cursors, param);
    if (field) {
      const cursorPath = pathOf(field.names);
      return known({ type: "cursor", cursorPath, cursorParam: param.name, ...ends, ...size });
    }
    const candidates = cursors.map(({ names }) => ({
      type: "cursor",
      cursorPath: pathOf(names),
      cursorParam: param.name,
    }));
    return open(`Several fields may have the value of ${param.name} for the next page.`, candidates);
  }
  const counter = page ?? offset;
  const numbers = fields.filter(({ plain, view }) => NEXT_NUMBERS.has(plain) && isCount(view));
  const [number] = numbers;
  if (counter && number && numbers.length === 1)
    return known({
      type: "cursor",
      cursorPath: pathOf(number.names),
      cursorParam: counter.name,
      ...ends,
      ...size,
    });
  if (links.length > 0) {
    const sure = pick(links.filter(isSureLink)) ?? null;
    if (sure) return known({ type: "json_link", nextPath: pathOf(sure.names), ...ends, ...size });
    return open(
      "A field may contain the URL of the next page, but the description doesn't say so.",
      links.map(({ names }) => ({ type: "json_link", nextPath: pathOf(names) })),
    );
  }
  if (param && isAfterRow(param, facts, hasNextPath !== null)) {
    const cursorPath = pathOf([...facts.rows.names], "[-1].id");
    return known({ type: "cursor", cursorPath, cursorParam: param.name, ...ends, ...size });
  }
  const startOffset = offset ? offsetOf(offset, parameters) : null;
  if (offset && startOffset !== null)
    return known({ type: "offset", offsetParam: offset.name, startOffset, ...ends, ...size });
  if (page && !offset) {
    const startPage = startOf(page);
    const paginator: Paginator = { type: "page", pageParam: page.name, ...ends, ...size };
    if (startPage !== null) return known({ ...paginator, startPage });
    return open(`It doesn't say whether the first ${page.name} is 0 or 1.`, [
      { ...paginator, startPage: 0 },
      { ...paginator, startPage: 1 },
    ]);
  }
  if (offset) {
    const paginator: Paginator = { type: "offset", offsetParam: offset.name, ...ends, ...size };
    return open(`It doesn't say what ${offset.name} counts, and from where.`, [
      { ...paginator, startOffset: 0 },
      { ...paginator, startOffset: 1 },
      { type: "page", pageParam: offset.name, startPage: 0 },
    ]);
  }
  if (param)
    return open(`${param.name} asks for the next page, and no field of the reply holds what goes into it.`);
  const paging = uses.length > 0 ? uses : parameters.filter(speaksOfPages).map(({ name }) => name);
  if (paging.length > 0)
    return open(`It accepts ${paging.join(", ")}, but doesn't say how to request the next page.`);
  const header = facts.headers.find((each) => speaksOfPages(each) || /^range$/i.test(each.name));
  if (header)
    return open(`It takes the header ${header.name}, which paginators don't support.`, [{ type: "none" }]);
  const pagedHeader = facts.replyHeaders.find((name) => PAGED_HEADER.test(name) && !/rate/i.test(name));
  if (pagedHeader !== undefined)
    return open(`The header ${pagedHeader} of its response mentions pages, but no parameter requests them.`, [
      { type: "none" },
    ]);
  const answered = fields.find((field) => goesOn(field, facts));
  if (answered)
    return open(`The field ${pathOf(answered.names)} may be the cursor of the next page.`, [
      { type: "cursor", cursorPath: pathOf(answered.names), cursorParam: answered.names.at(-1) ?? "" },
      { type: "none" },
    ]);
  const related = fields.find(isRelated);
  if (related)
    return open("Its links may lead to the next page, but the description doesn't say so.", [
      { type: "json_link", nextPath: pathOf(related.names, "[?rel=='next'].href | [0]") },
      { type: "none" },
    ]);
  const hint = more ?? last ?? cursors[0] ?? fields.find(isHint);
  if (hint)
    return open(`The field ${pathOf(hint.names)} mentions pages, but no parameter requests them.`, [
      { type: "none" },
    ]);
  if (/\b(?:paginat|paged\b|next page|pages? of results)/i.test(facts.description))
    return open("Its description mentions pages, but no parameter requests them.", [{ type: "none" }]);
  return known({ type: "none" });
}

const isHint = ({ plain, view }: Field) =>
  !isRecord(view) &&
  !isList(view) &&
  (FIELDS.hint.has(plain) || /^next|next$|hasmore|cursor|page(?!d)|paginat/.test(plain)) &&
  plain !== "limit";

const PAGED_HEADER = /pag(?:e|ination)|cursor|continu|next|content-?range|total-?(?:count|results|items)/i;

/** A response field with the name of a parameter that continues the list. */
const goesOn = ({ plain, view }: Field, { parameters }: ListFacts): boolean =>
  (isText(view) || isCount(view)) &&
  /token|until|since|checkpoint|mark|seq|sync|resume|scroll|position|older|newer|before|after|continu|key$/.test(
    plain,
  ) &&
  parameters.some(({ name }) => plainName(name) === plain);

/** A list of links, each with its relation. */
function isRelated({ plain, view }: Field): boolean {
  if (!isList(view) || !plain.endsWith("links")) return false;
  const item = view.items()?.fields();
  return item === undefined || item.size === 0 || (item.has("rel") && item.has("href"));
}

/** Names that also have other meanings. */
const VAGUE = new Set(["from", "since", "start", "offset", "next", "continue", "after", "marker", "lastid"]);
const NEXT_NUMBERS = new Set(["nextpage", "nextoffset", "nextstart", "nextpagenumber", "nextstartindex"]);

const pick = <T>(list: readonly T[]): T | null => (list.length === 1 ? (list[0] as T) : null);

/** Response fields next to the rows, including those nested in containers. */
function fieldsBeside({ reply, rows }: ListFacts): Field[] {
  const found: Field[] = [];
  const walk = (view: View, names: readonly string[], depth: number) => {
    for (const [name, field] of view.fields()) {
      const path = [...names, name];
      if (path.length === rows.names.length && path.every((each, at) => each === rows.names[at])) continue;
      const plain = plainName(name);
      found.push({ names: path, plain, view: field });
      const isOnTheWay = rows.names.length > path.length && rows.names[path.length - 1] === name;
      if (isRecord(field) && depth < 3 && (CONTAINERS.has(plain) || isOnTheWay)) walk(field, path, depth + 1);
    }
  };
  if (isRecord(reply)) walk(reply, [], 0);
  return found;
}

/** A field with the URL of the next page, judged by its name and position. */
function isLink({ names, plain, view }: Field): boolean {
  if (!isText(view) && view.types.length > 0) return false;
  const above = names.slice(0, -1).map(plainName);
  const own = plain === "href" || plain === "url" || plain === "uri";
  if (own) return above.at(-1) === "next";
  if (!FIELDS.link.has(plain)) return false;
  if (/(url|uri|href|link|path)$/.test(plain)) return true;
  return hasAddress(view) || above.at(-1) === "links" || /\b(?:url|uri|link)\b/i.test(view.description);
}

const hasAddress = ({ format, example }: View) =>
  /^(?:uri|url|uri-reference|iri)$/.test(format ?? "") || /^(?:https?:\/\/|\/\w)/.test(example ?? "");

/** A field that is certainly the URL of the next page. */
const isSureLink = (field: Field) =>
  isText(field.view) &&
  (hasAddress(field.view) ||
    /next.*(url|uri|href|link)$|(url|uri|href|link).*next$/.test(joinedName(field)) ||
    /\b(?:url|uri|link)\b/i.test(field.view.description));

const joinedName = ({ names }: Field) => plainName(names.join(""));

/** A field with the cursor of the next page. */
function isCursor({ names, plain, view }: Field): boolean {
  if (!isText(view) && !isCount(view)) return false;
  if (isText(view) && hasAddress(view)) return false;
  if (!FIELDS.cursor.has(plain)) return false;
  if (/previous|prev/.test(plainName(names.join("")))) return false;
  if (plain === "next") return isText(view) || names.length === 1;
  return !NEXT_NUMBERS.has(plain) || isText(view);
}

/** The only field that can be the source of a parameter's value. */
function matching(fields: readonly Field[], { name }: QueryParameter): Field | null {
  const plain = plainName(name);
  const bare = plain.replace(/^page(?=.)/, "");
  const exact = fields.filter(
    (field) =>
      field.plain === `next${plain}` || field.plain === `next${bare}` || field.plain === `${plain}next`,
  );
  const next = fields.filter(
    ({ names, plain: own }) => own.includes("next") || names.some((each) => plainName(each) === "next"),
  );
  const same = fields.filter((field) => field.plain === plain || field.plain === bare);
  return (
    pick(exact) ??
    (exact.length === 0 ? (pick(next) ?? (next.length === 0 ? (pick(same) ?? pick(fields)) : null)) : null)
  );
}

/** Whether the parameter takes the ID of the previous row, according to the description. */
function isAfterRow({ name, description }: QueryParameter, { rows }: ListFacts, hasMore: boolean): boolean {
  const id = rows.item?.fields().get("id");
  if (!id || !(isText(id) || isCount(id))) return false;
  const plain = plainName(name).replace(/^page/, "");
  if (plain === "startingafter") return hasMore || /\bid\b/i.test(description);
  if (!/^(startafter|afterid|after|lastid)$/.test(plain)) return false;
  return /\b(?:object |the )?ids?\b/i.test(description) && /\b(?:last|after)\b/i.test(description);
}

const totalOf = (fields: readonly Field[]): string | null => {
  const found = pick(fields.filter(({ plain, view }) => FIELDS.total.has(plain) && isCount(view)));
  return found ? pathOf(found.names) : null;
};

/** Names as a JMESPath expression. */
export function pathOf(names: readonly string[], end = ""): string {
  const path = names.map((name) => (/^[A-Za-z_]\w*$/.test(name) ? name : JSON.stringify(name))).join(".");
  return `${path}${end}`;
}

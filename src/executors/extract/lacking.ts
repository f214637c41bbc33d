import { quoteText } from "../../sql/text.ts";
import type { Drops } from "./drops.ts";
import type { Site } from "./land.ts";
import { META_COLUMNS, PATH_SEPARATOR, variantOwner } from "./naming.ts";
import type { Plan } from "./plan.ts";
import { isFilled, type Target } from "./resolve.ts";
import { PRESENT, type Sheet, type SheetColumn } from "./sheet.ts";

export const isUpsert = ({ disposition, strategy }: Pick<Plan, "disposition" | "strategy">): boolean =>
  disposition === "merge" && strategy === "upsert";

interface Upserted {
  /** The columns to write. In an upsert, those that some row has. */
  targets: Target[];
  /** Further columns to write, which are true for rows that lack a column. */
  flags: Target[];
  /** The flags' names, by the column that some rows lack. */
  lacks: ReadonlyMap<string, string>;
}

/**
 * What a load writes for a table. An upsert keeps the old values of columns that a new row lacks. A column and its
 * variants are one value.
 */
export async function upserted(
  { plan, existing }: Pick<Site, "plan" | "existing">,
  drops: Drops,
  sheet: Sheet,
  targets: Target[],
): Promise<Upserted> {
  if (!isUpsert(plan) || sheet !== drops.root || existing(sheet.table) === null)
    return { targets, flags: [], lacks: new Map() };
  const names = new Set(targets.map(({ name }) => name));
  const ownerOf = ({ name }: Target): string => {
    const owner = variantOwner(name);
    return owner !== null && names.has(owner) ? owner : name;
  };
  const own = new Set(targets.filter(({ name }) => !META_COLUMNS.includes(name)).map(ownerOf));
  const read = new Set(sheet.columns.map(({ name }) => name));
  const lacking = sheet.slots.includes(PRESENT)
    ? await lackingRows(drops, sheet, [...own])
    : // The rows of a typed source have all of its columns.
      new Map([...own].filter((name) => !read.has(name)).map((name) => [name, null]));
  const flags = new Map<string, Target>();
  for (const [owner, sql] of lacking)
    if (sql !== null) flags.set(owner, { name: `__weir_lacks_${flags.size}`, type: "BOOLEAN", sql });
  return {
    targets: targets.filter((target) => lacking.get(ownerOf(target)) !== null),
    flags: [...flags.values()],
    lacks: new Map(
      targets.flatMap((target) => {
        const flag = flags.get(ownerOf(target));
        return flag ? [[target.name, flag.name] as const] : [];
      }),
    ),
  };
}

/** Rows of few files have few values of `PRESENT`. Looking into these takes a thousandth of looking into each row. */
const MAX_PRESENCES = 64;
const PRESENCE = `hash(coalesce(${PRESENT.name}, ''))`;

/** The values of `PRESENT` with their hashes. Null if there are many. */
async function presencesOf(drops: Drops, sheet: Sheet): Promise<[hash: string, text: string][] | null> {
  const rows = await drops.session.run(
    `SELECT DISTINCT CAST(${PRESENCE} AS VARCHAR) AS hash, coalesce(${PRESENT.name}, '') AS text FROM (${drops.alive(sheet)}) LIMIT ${MAX_PRESENCES + 1}`,
  );
  if (rows.length > MAX_PRESENCES) return null;
  return rows.map(({ hash, text }) => [String(hash), String(text)]);
}

/** The columns that rows lack, with the condition for these rows. Null if all rows do. */
async function lackingRows(
  drops: Drops,
  sheet: Sheet,
  names: readonly string[],
): Promise<Map<string, string | null>> {
  const related = relatives(sheet);
  const presences = await presencesOf(drops, sheet);
  const conditions = names.map((name) => lackingSql(name, related, presences));
  const counts = conditions.map((condition, at) => `count(*) FILTER (${condition}) AS n${at}`);
  const [row] = await drops.session.run(
    `SELECT count(*) AS n${counts.map((count) => `, ${count}`).join("")} FROM (${drops.alive(sheet)})`,
  );
  const found = new Map<string, string | null>();
  for (const [at, name] of names.entries()) {
    const count = Number(row?.[`n${at}`] ?? 0);
    if (count > 0) found.set(name, count === Number(row?.n) ? null : (conditions[at] ?? null));
  }
  return found;
}

/** A field that was an object has its values in `a__b`, and one that was not in `a`: either replaces the other. */
function lackingSql(
  name: string,
  related: ReadonlyMap<string, readonly SheetColumn[]>,
  presences: readonly [hash: string, text: string][] | null,
): string {
  const parents = pathsOf(name).slice(0, -1);
  const columns = [
    ...(related.get(name) ?? []),
    ...parents.flatMap((path) => (related.get(path) ?? []).filter((column) => column.name === path)),
  ].filter(({ slots }) => slots.length > 0);
  const texts = [name, `${name}${PATH_SEPARATOR}`, ...parents].map(
    (path, at) => `,${path}${at === 1 ? "" : ","}`,
  );
  const isPresent = [...columns.map(isFilled)];
  if (presences === null)
    isPresent.push(...texts.map((text) => `contains(coalesce(${PRESENT.name}, ''), ${quoteText(text)})`));
  else {
    const having = presences.filter(([, present]) => texts.some((text) => present.includes(text)));
    if (having.length === presences.length) return "false";
    if (having.length > 0) isPresent.push(`${PRESENCE} IN (${having.map(([hash]) => hash).join(", ")})`);
  }
  return isPresent.length === 0 ? "true" : `NOT (${isPresent.join(" OR ")})`;
}

/** The sheet's columns by their own names and those of the fields that they are in. */
function relatives({ columns }: Sheet): Map<string, SheetColumn[]> {
  const found = new Map<string, SheetColumn[]>();
  for (const column of columns)
    for (const path of pathsOf(column.name)) {
      const known = found.get(path);
      if (known) known.push(column);
      else found.set(path, [column]);
    }
  return found;
}

/** The names of a nested field and of those that it is in: `a`, `a__b`, `a__b__c`. */
const pathsOf = (name: string): string[] =>
  name.split(PATH_SEPARATOR).map((_, at, parts) => parts.slice(0, at + 1).join(PATH_SEPARATOR));

import type { LiveTable } from "./live.ts";

/** A column of one table that contains values of another's. */
export interface Relationship {
  from: { table: string; column: string };
  to: { table: string; column: string };
  /** `nested`: a child table of a load. `inferred`: only from the names. */
  kind: "nested" | "inferred";
}

const bare = (name: string) => name.slice(name.lastIndexOf(".") + 1).replaceAll('"', "");
const layerOf = (name: string) => name.slice(0, Math.max(0, name.lastIndexOf(".")));
/** A table that a load names `shop__orders` contains orders. */
const subject = (name: string) => bare(name).split("__").at(-1)?.toLowerCase() ?? "";
const singular = (word: string) =>
  word
    .replace(/ies$/, "y")
    .replace(/(ss|sh|ch|x)es$/, "$1")
    .replace(/(?<!s)s$/, "");

/** Returns the relationships of the tables, as far as loads and names show them. */
export function relationshipsOf(tables: readonly LiveTable[]): Relationship[] {
  return tables.flatMap((table) => [...nestedIn(table, tables), ...namedIn(table, tables)]);
}

function nestedIn({ name, columns }: LiveTable, tables: readonly LiveTable[]): Relationship[] {
  if (!columns.some((column) => column.name === "_dlt_parent_id")) return [];
  const parents = tables.filter(
    (other) => other.name !== name && bare(name).startsWith(`${bare(other.name)}__`),
  );
  const parent = parents.toSorted((a, b) => b.name.length - a.name.length)[0];
  if (!parent) return [];
  return [
    {
      from: { table: name, column: "_dlt_parent_id" },
      to: { table: parent.name, column: "_dlt_id" },
      kind: "nested",
    },
  ];
}

/** `customer_id` refers to the `id` (or `customer_id`) of `customers`, if both have the same type. */
function namedIn({ name, columns }: LiveTable, tables: readonly LiveTable[]): Relationship[] {
  return columns.flatMap((column) => {
    const [, stem] = /^(?!_dlt_)(.+?)_?(?:id|key|code|sku)$/i.exec(column.name) ?? [];
    if (stem === undefined) return [];
    const own = subject(name);
    const targets = tables.flatMap((other) => {
      if (other.name === name || singular(subject(other.name)) !== singular(stem.toLowerCase())) return [];
      if (singular(own) === singular(stem.toLowerCase())) return [];
      const key = other.columns.find(
        ({ name: theirs, dataType }) =>
          (theirs.toLowerCase() === "id" || theirs.toLowerCase() === column.name.toLowerCase()) &&
          dataType === column.dataType,
      );
      return key ? [{ table: other.name, column: key.name }] : [];
    });
    const near = targets.find((target) => layerOf(target.table) === layerOf(name)) ?? targets[0];
    return near ? [{ from: { table: name, column: column.name }, to: near, kind: "inferred" as const }] : [];
  });
}

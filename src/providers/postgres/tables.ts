import { AppError } from "../../base/errors.ts";
import type { KeyedTable } from "../contract-tables.ts";
import { parseSpec, tableSpec } from "./names.ts";
import type { Session } from "./session.ts";
import type { SourceColumn } from "./types.ts";

/** Readable relations: tables, partitioned tables, views, materialized views, foreign tables. */
const READABLE = "('r', 'p', 'v', 'm', 'f')";

export async function listTables(session: Session, includeSystem: boolean) {
  const rows = await session.rows<{ schema: string; table: string }>(
    `select n.nspname as schema, c.relname as table
       from pg_catalog.pg_class c
       join pg_catalog.pg_namespace n on n.oid = c.relnamespace
      where c.relkind in ${READABLE}
        and ($1 or (n.nspname !~ '^pg_' and n.nspname <> 'information_schema'))
        and n.nspname !~ '^pg_(toast_)?temp_'
        and pg_catalog.has_schema_privilege(n.oid, 'usage')
        and pg_catalog.has_any_column_privilege(c.oid, 'select')
      order by 1, 2`,
    [includeSystem],
  );
  return rows.map(({ schema, table }) => ({ schema, table, spec: tableSpec(schema, table) }));
}

/** See `Tables.inSchemas`. */
export async function tablesIn(session: Session, schemas: readonly string[]): Promise<KeyedTable[]> {
  const rows = await session.rows<Omit<KeyedTable, "spec">>(
    `with keys as (
       select i.indrelid, json_agg(a.attname order by k.position) as names
         from pg_catalog.pg_index i
        cross join unnest(i.indkey::int2[]) with ordinality as k (attnum, position)
         join pg_catalog.pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
        where i.indisprimary and k.position <= i.indnkeyatts
        group by i.indrelid)
     select n.nspname as schema, c.relname as table, coalesce(k.names, '[]') as "primaryKey",
            pg_catalog.pg_table_is_visible(c.oid) as "isVisible"
       from pg_catalog.pg_class c
       join pg_catalog.pg_namespace n on n.oid = c.relnamespace
       left join keys k on k.indrelid = c.oid
      where c.relkind in ${READABLE} and not c.relispartition
        and n.nspname in (select json_array_elements_text($1::text::json))
        and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
        and pg_catalog.has_schema_privilege(n.oid, 'usage')
        and pg_catalog.has_any_column_privilege(c.oid, 'select')
      order by 1, 2`,
    [JSON.stringify(schemas)],
  );
  return rows.map((row) => ({ ...row, spec: tableSpec(row.schema, row.table) }));
}

/** An existing table, with its columns in ordinal order. */
export interface SourceTable {
  schema: string;
  table: string;
  columns: SourceColumn[];
}

/** The table named in `spec`. The exact case is preferred, then PostgreSQL's folded one. Throws `not_found`. */
export async function findTable(session: Session, spec: string, database: string): Promise<SourceTable> {
  const wanted = parseSpec(spec);
  const [found] = await session.rows<{ oid: number; schema: string; table: string }>(
    `select c.oid, n.nspname as schema, c.relname as table
       from pg_catalog.pg_class c
       join pg_catalog.pg_namespace n on n.oid = c.relnamespace
      where c.relkind in ${READABLE}
        and c.relname in ($2::text, lower($2::text))
        and case when $1::text is null then pg_catalog.pg_table_is_visible(c.oid)
                 else n.nspname in ($1::text, lower($1::text)) end
      order by (c.relname = $2::text) desc, (n.nspname = $1::text) desc
      limit 1`,
    [wanted.schema, wanted.table],
  );
  if (!found) {
    throw new AppError("not_found", `There is no table or view ${spec} in the database "${database}".`);
  }
  return { schema: found.schema, table: found.table, columns: await columnsOf(session, found.oid) };
}

/** Domains are resolved to their base types, and arrays to their element types. */
export const columnsOf = (session: Session, oid: number): Promise<SourceColumn[]> =>
  session.rows<SourceColumn>(
    `with recursive walk (attnum, depth, oid, modifier, required) as (
       select attnum, 0, atttypid, atttypmod, attnotnull
         from pg_catalog.pg_attribute
        where attrelid = $1::oid and attnum > 0 and not attisdropped
       union all
       select w.attnum,
              case t.typtype when 'd' then w.depth else 1 end,
              case t.typtype when 'd' then t.typbasetype else t.typelem end,
              case t.typtype when 'd' then t.typtypmod else w.modifier end,
              w.required or t.typnotnull
         from walk w
         join pg_catalog.pg_type t on t.oid = w.oid
         left join pg_catalog.pg_type e on e.oid = t.typelem
        where t.typtype = 'd' or w.depth = 0 and e.typarray = t.oid),
     found as (
       select w.attnum, w.depth, w.required, w.modifier,
              case when t.typnamespace = 'pg_catalog'::pg_catalog.regnamespace
                     or t.typname = 'citext' and t.typcategory = 'S' then t.typname else '' end as base,
              t.typtype as kind, t.typcategory as category
         from walk w
         join pg_catalog.pg_type t on t.oid = w.oid and t.typtype <> 'd')
     select a.attname as name,
            pg_catalog.format_type(a.atttypid, a.atttypmod) as type,
            pg_catalog.format_type(a.atttypid, null) as "castType",
            not b.required as nullable,
            b.base, b.kind, b.category, b.modifier,
            case when e.attnum is not null then
              json_build_object('base', e.base, 'kind', e.kind, 'category', e.category, 'modifier', e.modifier)
            end as element,
            case when pg_catalog.to_jsonb(l) ->> 'collisdeterministic' = 'false' then
              json_build_object('name', pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(l.collname),
                                'version', pg_catalog.pg_collation_actual_version(l.oid))
            end as collation
       from found b
       join pg_catalog.pg_attribute a on a.attrelid = $1::oid and a.attnum = b.attnum
       left join pg_catalog.pg_collation l on l.oid = a.attcollation
       left join pg_catalog.pg_namespace n on n.oid = l.collnamespace
       left join found e on e.attnum = b.attnum and e.depth = 1
      where b.depth = 0
      order by a.attnum`,
    [oid],
  );

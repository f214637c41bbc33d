-- SQLite functions that Weir's queries call, with SQLite's results.
-- They are in the schema of the tables, whose name replaces `own`, since indexes call them without a search path.
-- Names are SQLite's, except those that are syntax in PostgreSQL.

-- PostgreSQL can't store U+0000 in text. It is stored as U+0001 U+0001, and U+0001 as U+0001 U+0002, which preserves
-- the sort order (`postgres-text.ts`). JSON is stored as in SQLite, and its strings are encoded only when it is read.
-- A lone surrogate, which UTF-8 can't encode, becomes U+FFFD when read.
CREATE OR REPLACE FUNCTION readable_json(j text) RETURNS json LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN strpos(j, '\u') = 0 THEN j::json ELSE
    regexp_replace(regexp_replace(regexp_replace(regexp_replace(j,
      '(?<!\\)((?:\\\\)*)\\u0001', '\1\\u0001\\u0002', 'g'),
      '(?<!\\)((?:\\\\)*)\\u0000', '\1\\u0001\\u0001', 'g'),
      '(?<!\\)((?:\\\\)*)\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F][0-9a-fA-F]{2})', '\1\\ufffd', 'g'),
      '(?<!\\u[dD][89abAB][0-9a-fA-F]{2})(?<!\\)((?:\\\\)*)\\u[dD][c-fC-F][0-9a-fA-F]{2}', '\1\\ufffd', 'g')::json
  END $$;

-- Converts JSON that was read back to its stored form.
CREATE OR REPLACE FUNCTION stored_json(j text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN strpos(j, '\u0001') = 0 THEN j ELSE
    regexp_replace(regexp_replace(j,
      '(?<!\\)((?:\\\\)*)\\u0001\\u0001', '\1\\u0000', 'g'),
      '(?<!\\)((?:\\\\)*)\\u0001\\u0002', '\1\\u0001', 'g')
  END $$;
-- Value of JSON that was read: a string as text, null as NULL, anything else as JSON.
CREATE OR REPLACE FUNCTION json_value_of(j json) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN json_typeof(j) IN ('object', 'array') THEN own.stored_json(j #>> '{}') ELSE j #>> '{}' END $$;

-- `$.a.b`, `$[0].key`, `$."a b"` and `$.list[#]` as an array of keys. `[#]` is the position after the last.
CREATE OR REPLACE FUNCTION json_keys(path text) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT coalesce(array_agg(coalesce(m[1], m[2], m[3]) ORDER BY n), '{}')
  FROM regexp_matches(substr(path, 2), '\."([^"]*)"|\.([^.\["]+)|\[([0-9]+|#)\]', 'g') WITH ORDINALITY AS t(m, n) $$;

CREATE OR REPLACE FUNCTION json_extract(j text, path text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT own.json_value_of(own.readable_json(j) #> own.json_keys(path)) $$;
CREATE OR REPLACE FUNCTION json_at(j text, path text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT own.json_value_of(CASE WHEN left(path, 1) = '$' THEN own.readable_json(j) #> own.json_keys(path) ELSE own.readable_json(j) -> path END) $$;
CREATE OR REPLACE FUNCTION json_at(j text, place integer) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT own.json_value_of(own.readable_json(j) -> place) $$;

CREATE OR REPLACE FUNCTION json_each(j text) RETURNS TABLE (key text, value text)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE ROWS 50 AS $$
DECLARE whole json := own.readable_json(j);
BEGIN
  IF json_typeof(whole) = 'array' THEN
    RETURN QUERY SELECT (t.n - 1)::text, own.json_value_of(t.v) FROM json_array_elements(whole) WITH ORDINALITY AS t(v, n);
  ELSIF json_typeof(whole) = 'object' THEN
    RETURN QUERY SELECT t.k, own.json_value_of(t.v) FROM pg_catalog.json_each(whole) AS t(k, v);
  ELSIF whole IS NOT NULL THEN
    RETURN QUERY SELECT NULL::text, whole #>> '{}';
  END IF;
END $$;
-- Values of `json_each(j)`, for comparing IDs with a list: unlike a join, this can use an index.
CREATE OR REPLACE FUNCTION json_texts(j text) RETURNS text[] LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  IF left(j, 1) = '[' AND strpos(j, '\u') = 0 THEN RETURN ARRAY(SELECT json_array_elements_text(j::json)); END IF;
  RETURN ARRAY(SELECT e.value FROM own.json_each(j) e);
END $$;
CREATE OR REPLACE FUNCTION json_each(j text, path text) RETURNS TABLE (key text, value text)
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 50 AS $$
  SELECT e.key, e.value FROM own.json_each(own.stored_json((own.readable_json(j) #> own.json_keys(path))::text)) e $$;

CREATE OR REPLACE FUNCTION json_array_length(j text) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE json_typeof(own.readable_json(j)) WHEN 'array' THEN json_array_length(own.readable_json(j))::bigint ELSE 0 END $$;
CREATE OR REPLACE FUNCTION json_array_length(j text, path text) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT own.json_array_length((own.readable_json(j) #> own.json_keys(path))::text) $$;

-- SQLite's json(): treats text as JSON rather than as a string.
CREATE OR REPLACE FUNCTION json_text(j text) RETURNS json LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT own.readable_json(j) $$;
CREATE OR REPLACE FUNCTION json_text(j json) RETURNS json LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT j $$;

-- Sets the value at a path, preserving the order of keys. NULL for `put` removes it.
CREATE OR REPLACE FUNCTION json_put(j json, keys text[], put json) RETURNS json LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE k text := keys[1]; made text;
BEGIN
  IF k IS NULL THEN RETURN put; END IF;
  IF json_typeof(j) = 'array' THEN
    SELECT string_agg(v::text, ',' ORDER BY n) INTO made FROM (
      SELECT t.n, CASE WHEN (t.n - 1)::text = k THEN own.json_put(t.v, keys[2:], put) ELSE t.v END AS v
      FROM json_array_elements(j) WITH ORDINALITY AS t(v, n)
      UNION ALL SELECT 1000000000, put WHERE k IN ('#', json_array_length(j)::text) AND cardinality(keys) = 1
    ) one WHERE v IS NOT NULL;
    RETURN '[' || coalesce(made, '') || ']';
  ELSIF json_typeof(j) = 'object' THEN
    SELECT string_agg(to_json(name)::text || ':' || v::text, ',' ORDER BY n) INTO made FROM (
      SELECT t.n, t.name, CASE WHEN t.name = k THEN own.json_put(t.v, keys[2:], put) ELSE t.v END AS v
      FROM json_each(j) WITH ORDINALITY AS t(name, v, n)
      UNION ALL SELECT 1000000000, k, put WHERE j -> k IS NULL AND cardinality(keys) = 1
    ) one WHERE v IS NOT NULL;
    RETURN '{' || coalesce(made, '') || '}';
  END IF;
  RETURN j;
END $$;

CREATE OR REPLACE FUNCTION json_set(j text, path text, v json) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT own.stored_json(own.json_put(own.readable_json(j), own.json_keys(path), coalesce(v, 'null'::json))::text) $$;
CREATE OR REPLACE FUNCTION json_set(j text, path text, v text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT own.json_set(j, path, to_json(v)) $$;
-- Not in SQL, since `v` is used twice: with a subquery in it, PostgreSQL wouldn't inline the function.
CREATE OR REPLACE FUNCTION json_insert(j text, path text, v json) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  IF path = '$[#]' AND left(j, 1) = '[' AND right(j, 1) = ']' THEN
    RETURN left(j, -1) || CASE j WHEN '[]' THEN '' ELSE ',' END || own.stored_json(coalesce(v, 'null'::json)::text) || ']';
  ELSIF own.readable_json(j) #> own.json_keys(path) IS NULL THEN RETURN own.json_set(j, path, v);
  END IF;
  RETURN j;
END $$;
CREATE OR REPLACE FUNCTION json_insert(j text, path text, v text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT own.json_insert(j, path, to_json(v)) $$;
CREATE OR REPLACE FUNCTION json_insert(j text, path text, v json, path2 text, v2 json) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT own.json_insert(own.json_insert(j, path, v), path2, v2) $$;
CREATE OR REPLACE FUNCTION json_insert(j text, path text, v json, path2 text, v2 json, path3 text, v3 json) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT own.json_insert(own.json_insert(j, path, v, path2, v2), path3, v3) $$;
CREATE OR REPLACE FUNCTION json_remove(j text, VARIADIC paths text[]) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE made json := own.readable_json(j); path text;
BEGIN
  FOREACH path IN ARRAY paths LOOP
    IF made #> own.json_keys(path) IS NOT NULL THEN made := own.json_put(made, own.json_keys(path), NULL); END IF;
  END LOOP;
  RETURN own.stored_json(made::text);
END $$;

CREATE OR REPLACE FUNCTION append_json(whole text, one json) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN whole IS NULL THEN '[' ELSE whole || ',' END || coalesce(one::text, 'null') $$;
CREATE OR REPLACE FUNCTION end_json(whole text) RETURNS json LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT (coalesce(whole, '[') || ']')::json $$;
CREATE OR REPLACE AGGREGATE json_group_array(json) (SFUNC = append_json, STYPE = text, FINALFUNC = end_json);
CREATE OR REPLACE FUNCTION append_text(whole text, one text, mark text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN one IS NULL THEN whole WHEN whole IS NULL THEN one ELSE whole || mark || one END $$;
CREATE OR REPLACE AGGREGATE group_concat(text, text) (SFUNC = append_text, STYPE = text);

CREATE OR REPLACE FUNCTION instr(a text, b text) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT strpos(a, b)::bigint $$;
CREATE OR REPLACE FUNCTION max(a bigint, b bigint) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN a IS NULL OR b IS NULL THEN NULL ELSE greatest(a, b) END $$;
CREATE OR REPLACE FUNCTION max(a double precision, b double precision) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT CASE WHEN a IS NULL OR b IS NULL THEN NULL ELSE greatest(a, b) END $$;

CREATE OR REPLACE FUNCTION instant_text(t timestamptz) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT to_char(t AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') $$;
-- Supports only Weir's format. As in SQLite, the clock advances within a transaction.
CREATE OR REPLACE FUNCTION strftime(form text, t text) RETURNS text LANGUAGE sql VOLATILE AS $$
  SELECT own.instant_text(CASE t WHEN 'now' THEN clock_timestamp() ELSE t::timestamptz END) $$;
CREATE OR REPLACE FUNCTION strftime(form text, t text, more text) RETURNS text LANGUAGE sql VOLATILE AS $$
  SELECT own.instant_text(CASE t WHEN 'now' THEN clock_timestamp() ELSE t::timestamptz END + more::interval) $$;
CREATE OR REPLACE FUNCTION strftime(form text, t double precision, unit text) RETURNS text LANGUAGE sql VOLATILE AS $$
  SELECT own.instant_text(to_timestamp(round(t::numeric, 3)::double precision)) $$;
CREATE OR REPLACE FUNCTION unixepoch(unit text) RETURNS double precision LANGUAGE sql VOLATILE AS $$
  SELECT extract(epoch FROM clock_timestamp())::double precision $$;
CREATE OR REPLACE FUNCTION unixepoch(t text, unit text) RETURNS double precision LANGUAGE sql STABLE AS $$
  SELECT extract(epoch FROM t::timestamptz)::double precision $$;

-- Supports `*`, `?` and `[…]`, as store/search.ts writes them.
CREATE OR REPLACE FUNCTION glob(pattern text, t text) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT t COLLATE "C" ~ ('^' || (SELECT coalesce(string_agg(CASE
      WHEN m[1] = '*' THEN '.*'
      WHEN m[1] = '?' THEN '.'
      WHEN left(m[1], 1) = '[' AND length(m[1]) > 2 THEN '[' || regexp_replace(substr(m[1], 2, length(m[1]) - 2), '([\\\[\]^-])', '\\\1', 'g') || ']'
      ELSE regexp_replace(m[1], '([.^$+(){}|\\\[\]*?])', '\\\1', 'g') END, '' ORDER BY n), '')
    FROM regexp_matches(pattern, '(\[[^\]]+\]|\*|\?|[^*?\[]+|\[)', 'g') WITH ORDINALITY AS p(m, n)) || '$') $$;

DO $$ BEGIN
  IF to_regoperator(format('%I.->>(text,text)', current_schema())) IS NULL THEN
    CREATE OPERATOR ->> (LEFTARG = text, RIGHTARG = text, FUNCTION = json_at);
    CREATE OPERATOR ->> (LEFTARG = text, RIGHTARG = integer, FUNCTION = json_at);
  END IF;
END $$;

-- The last transaction of each process (`postgres-writer.ts`). SQLite has no such table, and it isn't listed below.
CREATE TABLE IF NOT EXISTS last_commits (
  writer text PRIMARY KEY,
  id xid8 NOT NULL,
  at timestamptz NOT NULL DEFAULT now()
);

-- SQLite's schema table, as far as store/schema.ts and the audit log's check need it. No table has a rowid.
-- A trigger against DELETE is listed only if the same function also rejects TRUNCATE.
CREATE OR REPLACE VIEW sqlite_master AS
  SELECT 'table'::text AS type, c.relname::text COLLATE "C" AS name, c.relname::text COLLATE "C" AS tbl_name,
    'WITHOUT ROWID'::text AS sql
  FROM pg_class c WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace
    AND c.relname <> 'last_commits'
  UNION ALL
  SELECT 'trigger', t.tgname::text COLLATE "C", c.relname::text COLLATE "C",
    pg_get_triggerdef(t.oid) || ' ' || t.tgenabled::text || ' ' || p.prosrc
  FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_proc p ON p.oid = t.tgfoid
  WHERE NOT t.tgisinternal AND c.relnamespace = current_schema()::regnamespace AND t.tgtype & 32 = 0
    AND (t.tgtype & 10 <> 10 OR p.prosrc NOT LIKE '%RAISE EXCEPTION%' OR EXISTS (SELECT 1 FROM pg_trigger o
      WHERE o.tgrelid = t.tgrelid AND o.tgfoid = t.tgfoid AND o.tgtype & 32 = 32 AND o.tgenabled = 'O'));
CREATE OR REPLACE FUNCTION pragma_table_info(of_table text) RETURNS TABLE (name text, type text, "notnull" bigint, pk bigint)
LANGUAGE sql STABLE AS $$
  SELECT a.attname::text, format_type(a.atttypid, a.atttypmod), a.attnotnull::int::bigint,
    coalesce(array_position(i.indkey::smallint[], a.attnum) + 1, 0)::bigint
  FROM pg_attribute a LEFT JOIN pg_index i ON i.indrelid = a.attrelid AND i.indisprimary
  WHERE a.attrelid = to_regclass(format('%I.%I', current_schema(), $1)) AND a.attnum > 0 AND NOT a.attisdropped $$;

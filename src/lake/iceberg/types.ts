/** A column's type in Iceberg, with the IDs of nested fields. Field names are those of the files. */
export type IcebergType =
  | string
  | { sort: "list"; elementId: number; element: IcebergType }
  | { sort: "map"; keyId: number; key: IcebergType; valueId: number; value: IcebergType }
  | { sort: "struct"; fields: { id: number; name: string; type: IcebergType }[] };

const PLAIN: Readonly<Record<string, string>> = {
  BOOLEAN: "boolean",
  TINYINT: "int",
  SMALLINT: "int",
  UTINYINT: "int",
  USMALLINT: "int",
  INTEGER: "int",
  BIGINT: "long",
  FLOAT: "float",
  DOUBLE: "double",
  DATE: "date",
  TIME: "time",
  TIMESTAMP: "timestamp",
  "TIMESTAMP WITH TIME ZONE": "timestamptz",
  VARCHAR: "string",
  JSON: "string",
  UUID: "uuid",
  BLOB: "binary",
};

/** IDs of nested fields: of list elements, and of everything deeper or in structs and maps. */
export interface InnerIds {
  element(): number;
  deeper(): number;
}

/** Iceberg's type for a DuckDB type. Null if it has none. */
export function icebergType(dataType: string, ids: InnerIds): IcebergType | null {
  if (dataType.endsWith("[]")) {
    const elementId = ids.element();
    const element = icebergType(dataType.slice(0, -2), { ...ids, element: ids.deeper });
    return element && { sort: "list", elementId, element };
  }
  const [, precision, scale] = /^DECIMAL\((\d+),(\d+)\)$/.exec(dataType) ?? [];
  if (precision !== undefined) return `decimal(${precision}, ${scale})`;
  const [, sort, inner] = /^(STRUCT|MAP)\((.*)\)$/s.exec(dataType) ?? [];
  if (inner === undefined) return PLAIN[dataType] ?? null;
  const within = { ...ids, element: ids.deeper };
  return sort === "MAP" ? mapOf(partsOf(inner), within) : structOf(partsOf(inner), within);
}

function mapOf([keyType = "", valueType = ""]: readonly string[], ids: InnerIds): IcebergType | null {
  const [keyId, valueId] = [ids.deeper(), ids.deeper()];
  const key = icebergType(keyType, ids);
  const value = icebergType(valueType, ids);
  return key && value && { sort: "map", keyId, key, valueId, value };
}

function structOf(parts: readonly string[], ids: InnerIds): IcebergType | null {
  const fields = parts.flatMap((part) => {
    const id = ids.deeper();
    const [quoted = ""] = QUOTED.exec(part) ?? [];
    const type = quoted && icebergType(part.slice(quoted.length + 1), ids);
    return type ? [{ id, name: quoted.slice(1, -1).replaceAll('""', '"'), type }] : [];
  });
  return fields.length === parts.length ? { sort: "struct", fields } : null;
}

/** A quoted field name of a struct. */
const QUOTED = /^"(?:[^"]|"")*"/;

/** Splits at commas, except within names and brackets. */
function partsOf(inner: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let from = 0;
  for (const { 0: found, index } of inner.matchAll(/"(?:[^"]|"")*"|[(),]/g)) {
    if (found === "(") depth++;
    if (found === ")") depth--;
    if (found !== "," || depth > 0) continue;
    parts.push(inner.slice(from, index));
    from = index + 1;
  }
  return [...parts, inner.slice(from)].map((part) => part.trim());
}

/** Reuses a type's IDs, in order of assignment, for a type of the same structure. */
export function idsAgain(type: IcebergType): InnerIds {
  const ids = idsWithin(type);
  const next = (): number => ids.shift() ?? 0;
  return { element: next, deeper: next };
}

function idsWithin(type: IcebergType): number[] {
  if (typeof type === "string") return [];
  if (type.sort === "list") return [type.elementId, ...idsWithin(type.element)];
  if (type.sort === "map")
    return [type.keyId, type.valueId, ...idsWithin(type.key), ...idsWithin(type.value)];
  return type.fields.flatMap(({ id, type: inner }) => [id, ...idsWithin(inner)]);
}

/** The type as JSON in a schema. */
export function typeJson(type: IcebergType): object | string {
  if (typeof type === "string") return type;
  if (type.sort === "struct")
    return {
      type: "struct",
      fields: type.fields.map((field) => ({
        id: field.id,
        name: field.name,
        required: false,
        type: typeJson(field.type),
      })),
    };
  if (type.sort === "list")
    return {
      type: "list",
      "element-id": type.elementId,
      element: typeJson(type.element),
      "element-required": false,
    };
  return {
    type: "map",
    "key-id": type.keyId,
    key: typeJson(type.key),
    "value-id": type.valueId,
    value: typeJson(type.value),
    "value-required": false,
  };
}

/** The names of nested values in files, as a name mapping. */
export function namesWithin(type: IcebergType): { fields?: object[] } {
  if (typeof type === "string") return {};
  const one = (id: number, name: string, inner: IcebergType) => ({
    "field-id": id,
    names: [name],
    ...namesWithin(inner),
  });
  if (type.sort === "list") return { fields: [one(type.elementId, "element", type.element)] };
  if (type.sort === "map")
    return { fields: [one(type.keyId, "key", type.key), one(type.valueId, "value", type.value)] };
  return { fields: type.fields.map(({ id, name, type: inner }) => one(id, name, inner)) };
}

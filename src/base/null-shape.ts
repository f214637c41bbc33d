import { OptionalKind, type TObject, type TProperties, type TSchema, Type } from "@sinclair/typebox";

/** Marks a field whose shape doesn't allow null. `read` treats null as absent there. */
export const NULL_IS_ABSENT = Symbol("null is absent");
/** Marks a field, with the value that `read` returns for null. */
export const NULL_IS = Symbol("what null stands for");

/**
 * Like `object`, for requests: null in an optional field means the same as omitting it.
 * With a default, null is rejected, since it could mean none, such as no end or no limit; see `nullIsDefault`.
 */
export function requestObject<P extends TProperties>(
  properties: P,
  options: Record<string, unknown> = {},
): TObject<P> {
  const entries = Object.entries(properties).map(([name, field]) => {
    const isOptional = OptionalKind in field && !("default" in field);
    return [name, isOptional && !takesNull(field) ? noneOr(field) : field];
  });
  return Type.Object(Object.fromEntries(entries) as P, { additionalProperties: false, ...options });
}

/** An optional field of an update that null clears. The handler gets `empty`. */
export function clearable<T extends TSchema>(empty: unknown, field: T) {
  const either = noneOr(field) as T;
  return Type.Optional(Object.assign(either, { [NULL_IS]: empty }));
}

/** A field of a request with a default that null stands for too, as no value could mean anything else. */
export const nullIsDefault = <T extends TSchema>(field: T): T =>
  Object.assign(noneOr(field) as T, { default: field.default });

const takesNull = ({ type, const: constant, enum: values, anyOf }: TSchema): boolean =>
  anyOf
    ? anyOf.some((member: TSchema) => takesNull(member))
    : type === "null" ||
      constant === null ||
      (values?.includes(null) ?? (type === undefined && constant === undefined));

function noneOr(field: TSchema): TSchema {
  const { description, examples } = field;
  const notes = { description, examples };
  const known = Object.entries(notes).filter(([, note]) => note !== undefined);
  const either = Type.Union([field, Type.Null()], Object.fromEntries(known));
  Object.assign(either, { [NULL_IS_ABSENT]: true });
  return OptionalKind in field ? Type.Optional(either) : either;
}

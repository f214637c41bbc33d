import { OptionalKind, type TObject, type TProperties, type TSchema, Type } from "@sinclair/typebox";

/** Marks a field whose shape has no null of its own: `read` passes over null there. */
export const NULL_IS_ABSENT = Symbol("null is absent");
/** Marks a field, and holds what `read` gives for null there. */
export const NULL_IS = Symbol("what null stands for");

/**
 * As `object`, for what a request gives: null at an optional field says the same as its absence. Where there is a default,
 * null is refused: it may mean none, such as no end or no limit.
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

/** An optional field of a change that null clears: a handler gets `empty` for it. */
export function clearable<T extends TSchema>(empty: unknown, field: T) {
  const either = noneOr(field) as T;
  return Type.Optional(Object.assign(either, { [NULL_IS]: empty }));
}

const takesNull = ({ type, const: held, enum: values, anyOf }: TSchema): boolean =>
  anyOf
    ? anyOf.some((member: TSchema) => takesNull(member))
    : type === "null" ||
      held === null ||
      (values?.includes(null) ?? (type === undefined && held === undefined));

function noneOr(field: TSchema): TSchema {
  const { description, examples } = field;
  const notes = { description, examples };
  const known = Object.entries(notes).filter(([, note]) => note !== undefined);
  const either = Type.Union([field, Type.Null()], Object.fromEntries(known));
  Object.assign(either, { [NULL_IS_ABSENT]: true });
  return OptionalKind in field ? Type.Optional(either) : either;
}

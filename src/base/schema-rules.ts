/**
 * Rules between the fields of an object, as JSON Schema.
 * Editors show them, `read` ignores them, and the check of the same rule in code has a message of its own.
 */

const has = (field: string, shape: object = {}) => ({ properties: { [field]: shape }, required: [field] });

/** Requires at least one of two fields. */
export const oneNeeded = (field: string, other: string) => ({
  if: { not: has(field) },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: has(other),
});

/** Requires exactly one of two fields. */
export const oneAlone = (field: string, other: string) => ({
  if: has(field),
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: { not: has(other) },
  else: has(other),
});

/** Requires a field, not empty if it is a list, if another field has a value. */
export const neededWhere = (field: string, value: string, needed: string) => ({
  if: has(field, { const: value }),
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: has(needed, { minItems: 1 }),
});

/** Two fields exclude each other. */
export const apart = (field: string, other: string) => ({
  dependentSchemas: { [field]: { not: has(other) } },
});

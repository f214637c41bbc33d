/**
 * Rules among the fields of an object, as JSON Schema has them: editors show them, `read` passes over them, and the
 * check of the same rule in code says in its own words what is missing.
 */

const has = (field: string, shape: object = {}) => ({ properties: { [field]: shape }, required: [field] });

/** At least one of two fields has to be there. */
export const oneNeeded = (field: string, other: string) => ({
  if: { not: has(field) },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: has(other),
});

/** Just one of two fields has to be there. */
export const oneAlone = (field: string, other: string) => ({
  if: has(field),
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: { not: has(other) },
  else: has(other),
});

/** A field has to be there, with something in it if it is a list, where another has a value. */
export const neededWhere = (field: string, value: string, needed: string) => ({
  if: has(field, { const: value }),
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: has(needed, { minItems: 1 }),
});

/** Two fields exclude each other. */
export const apart = (field: string, other: string) => ({
  dependentSchemas: { [field]: { not: has(other) } },
});

import { AppError } from "../base/errors.ts";

/** What a layer, a dataset and a table may be called. */
export const LAKE_NAME_PATTERN = "^[a-z][a-z0-9_]*$";

/** Longer names of tables would not fit into a file name. */
export const MAX_LAKE_NAME_CHARACTERS = 200;

const NAME = new RegExp(LAKE_NAME_PATTERN);
/** Tables are named by their source, and a name that began with a digit there has a _ before it. */
const TABLE = /^[a-z_][a-z0-9_]*$/;

/** Names that DuckDB gives to things of its own, so that no layer can have them. */
const RESERVED_LAYERS = new Set(["information_schema", "memory", "pg_catalog", "system", "temp"]);

/** What is wrong with a name, as a sentence; null where nothing is. */
export function nameFault(noun: "layer" | "dataset" | "table", name: string): string | null {
  if (!(noun === "table" ? TABLE : NAME).test(name))
    return `A ${noun} is named with lower-case letters, digits and _, beginning with a letter.`;
  if (name.length > MAX_LAKE_NAME_CHARACTERS) {
    return `The name of a ${noun} has at most ${MAX_LAKE_NAME_CHARACTERS} characters.`;
  }
  if (noun === "layer" && RESERVED_LAYERS.has(name))
    return `${name} can't be the name of a layer; SQL has its own.`;
  return null;
}

/** Throws `bad_request` for a name that can't be part of a path in the lake. */
export function checkName(noun: "layer" | "dataset" | "table", name: string): void {
  const fault = nameFault(noun, name);
  if (fault) throw new AppError("bad_request", fault, { details: { name } });
}

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
function checkName(noun: "layer" | "dataset" | "table", name: string): void {
  const fault = nameFault(noun, name);
  if (fault) throw new AppError("bad_request", fault, { details: { name } });
}

/** Ids, as organizations, loads and runs have them. */
const ID = /^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/;

/** Throws `bad_request` for an id that can't be part of a path in the lake. */
export function checkId(noun: string, id: string): void {
  if (!ID.test(id)) throw new AppError("bad_request", `Invalid ID of a ${noun}.`, { details: { id } });
}

/** The folder of a table's files, below the lake's root. Throws `bad_request` for what can't be part of a path. */
export function folderOf(at: {
  organizationId: string;
  layer: string;
  dataset: string;
  table: string;
  loadId: string;
}): string {
  checkId("organization", at.organizationId);
  checkId("load", at.loadId);
  checkName("layer", at.layer);
  checkName("dataset", at.dataset);
  checkName("table", at.table);
  return `${at.organizationId}/${at.layer}/${at.dataset}/${at.table}`;
}

/** The parts of a path below the lake's root. Throws `bad_request` for one that would leave it. */
export function checkPath(path: string): string[] {
  const parts = path.split("/");
  const isFine = parts.every((part) => part !== "" && part !== "." && part !== ".." && !/[\\\0]/.test(part));
  if (!isFine) throw new AppError("bad_request", "This path isn't in the lake.", { details: { path } });
  return parts;
}

/** What the `part` of a file begins with that came as a file: its path below the dataset follows. */
const ARRIVED = "file:";

/** The partition of a file that came as one, and stays itself: each is alone in its own. */
export const arrivedPart = (path: string): string => `${ARRIVED}${path}`;

/** The path below the dataset under which a file came; null for one that a load wrote. */
export const arrivedAt = (part: string | null | undefined): string | null =>
  part?.startsWith(ARRIVED) ? part.slice(ARRIVED.length) : null;

import { AppError } from "../base/errors.ts";

/** Valid names of layers, datasets and tables. */
export const LAKE_NAME_PATTERN = "^[a-z][a-z0-9_]*$";

/** A longer table name wouldn't fit a filename. */
export const MAX_LAKE_NAME_CHARACTERS = 200;

const NAME = new RegExp(LAKE_NAME_PATTERN);
/** Table names come from the source. A leading digit gets a `_` before it. */
const TABLE = /^[a-z_][a-z0-9_]*$/;

/** Names that DuckDB reserves, so no layer can have them. */
const RESERVED_LAYERS = new Set(["information_schema", "memory", "pg_catalog", "system", "temp"]);

/** Describes what is wrong with a name in a sentence. Null if it is valid. */
export function nameFault(noun: "layer" | "dataset" | "table", name: string): string | null {
  if (!(noun === "table" ? TABLE : NAME).test(name))
    return `The name of a ${noun} has lowercase letters, digits and _, and starts with a letter.`;
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

/** IDs of organizations, loads and runs. */
const ID = /^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/;

/** Throws `bad_request` for an ID that can't be part of a path in the lake. */
export function checkId(noun: string, id: string): void {
  if (!ID.test(id)) throw new AppError("bad_request", `Invalid ID of a ${noun}.`, { details: { id } });
}

/** The folder of a table's files, below the lake's root. Throws `bad_request` for an invalid name or ID. */
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

/** Prefix of `part` for a synced file. Its path below the dataset follows. */
const ARRIVED = "file:";

/** The partition of a synced file: each has its own, so it is never merged with others. */
export const arrivedPart = (path: string): string => `${ARRIVED}${path}`;

/** The original path of a synced file below the dataset, or null for a file that a load wrote. */
export const arrivedAt = (part: string | null | undefined): string | null =>
  part?.startsWith(ARRIVED) ? part.slice(ARRIVED.length) : null;

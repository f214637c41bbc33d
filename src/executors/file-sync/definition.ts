import { type Static, Type } from "@sinclair/typebox";
import { AppError } from "../../base/errors.ts";
import { upwardFault } from "../../base/file-path.ts";
import { object, oneOf, optional } from "../../base/shape.ts";
import { nameFault } from "../../lake/names.ts";
import { compileGlob, type Glob } from "../../providers/files/glob.ts";

/** Used instead of a connection ID for the organization's own tables. */
export const LAKE = "lake";

const path = (description: string) =>
  optional(Type.String({ maxLength: 4_096, description, "x-default": "/", examples: ["/2026"] }));

const connectionId = () =>
  optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      description: "ID of a connection with files, or `lake`. Default: the action's connection.",
    }),
  );

const pattern = () => Type.String({ minLength: 1, maxLength: 1_000 });

/** A path, an ID, or an item of the file list. */
const selectedItem = Type.Union([
  Type.String({ minLength: 1, maxLength: 4_096 }),
  Type.Object(
    {
      id: Type.String({ minLength: 1, maxLength: 4_096, description: "ID at the source" }),
      path: optional(Type.String({ minLength: 1, maxLength: 4_096, description: "Path at the source" })),
    },
    { additionalProperties: true, description: "An item of the list of files" },
  ),
  Type.Object(
    { path: Type.String({ minLength: 1, maxLength: 4_096, description: "Path at the source" }) },
    { additionalProperties: true, description: "An item of the list of files" },
  ),
]);
type SelectedItem = Static<typeof selectedItem>;

export const definition = object({
  source: object(
    {
      connectionId: connectionId(),
      path: path("The folder to copy from. Of the lake: /LAYER, /LAYER/DATASET or /LAYER/DATASET/TABLE."),
      selectedItems: optional(
        Type.Array(selectedItem, {
          maxItems: 10_000,
          description: "Only these files and folders, by path or ID. Default: all.",
        }),
      ),
      include: optional(
        Type.Array(pattern(), {
          maxItems: 100,
          description: "Only files that match one of these globs. A glob without a slash matches filenames.",
        }),
      ),
      exclude: optional(
        Type.Array(pattern(), { maxItems: 100, description: "Skip files that match one of these globs." }),
      ),
    },
    { description: "Where files are copied from" },
  ),
  destination: object(
    {
      connectionId: connectionId(),
      path: path("The folder to copy into. Of the lake: /LAYER/DATASET or /LAYER/DATASET/TABLE."),
    },
    { description: "Where files are copied to" },
  ),
  mode: oneOf(["copy", "mirror"], {
    default: "copy",
    description:
      "copy only adds and updates files. mirror also deletes files that the source doesn't have, after everything was copied, or before if they are in the way of a file or folder; it fails if the source folder doesn't exist. For tables of the lake, both modes delete files that were copied earlier and have since been rewritten.",
  }),
  overwrite: oneOf(["changed", "always", "never"], {
    default: "changed",
    description: "Which existing files to overwrite.",
  }),
  maxDelete: Type.Integer({
    minimum: 0,
    maximum: 1_000_000,
    default: 50,
    description:
      "Maximum number of files that a mirror may delete. If there are more, nothing is copied or deleted.",
  }),
  maxBytes: optional(
    Type.Integer({
      minimum: 1,
      description: "Maximum number of bytes to copy. If there are more, nothing is copied.",
    }),
  ),
  maxFiles: optional(
    Type.Integer({
      minimum: 1,
      description: "Maximum number of files to copy. If there are more, nothing is copied.",
    }),
  ),
});
export type Definition = Static<typeof definition>;

export const result = object({
  copied: Type.Integer(),
  skipped: Type.Integer({ description: "Number of files that were already up to date." }),
  deleted: Type.Integer(),
  failed: Type.Array(object({ path: Type.String(), reason: Type.String() })),
  bytes: Type.Integer({ description: "Total size of the copied files." }),
  files: Type.Array(object({ path: Type.String(), size: Type.Integer() }), {
    description: "The copied files, by their path at the destination.",
  }),
});

/** Errors that the shape can't express. */
export function faultsOf(input: Definition): { path: string[]; message: string }[] {
  const faults: { path: string[]; message: string }[] = [];
  const tell = (path: string[], message: string) => faults.push({ path, message });
  for (const field of ["include", "exclude"] as const) {
    const globs = input.source[field];
    for (const [index, glob] of (Array.isArray(globs) ? globs : []).entries()) {
      const fault = isPlain(glob) ? globFault(glob) : null;
      if (fault) tell(["source", field, String(index)], fault);
    }
  }
  for (const side of ["source", "destination"] as const) {
    const fault = upwardFault(input[side].path ?? "");
    if (fault) tell([side, "path"], fault);
  }
  if (input.destination.connectionId === LAKE && isPlain(input.destination.path ?? "")) {
    const fault = lakePathFault(input.destination.path ?? "");
    if (fault) tell(["destination", "path"], fault);
  }
  return faults;
}

export const isPlain = (text: unknown): text is string => typeof text === "string" && !text.includes("{{");

function globFault(glob: string): string | null {
  try {
    compileGlob(glob);
    return null;
  } catch (error) {
    if (error instanceof AppError) return error.message;
    throw error;
  }
}

/** Names between the slashes of a path. */
export const partsOf = (path: string): string[] => path.split("/").filter((part) => part !== "");

/** Returns why a path doesn't name a dataset or table to write to. Null if it does. */
export function lakePathFault(path: string): string | null {
  const [layer, dataset, table, ...more] = partsOf(path);
  if (layer === undefined || dataset === undefined || more.length > 0)
    return "A path in the lake is /LAYER/DATASET or /LAYER/DATASET/TABLE.";
  return (
    nameFault("layer", layer) ??
    nameFault("dataset", dataset) ??
    (table === undefined ? null : nameFault("table", table))
  );
}

/** Returns the selection, as a provider expects it. */
export const selectionOf = (items: readonly SelectedItem[]): string[] => [
  ...new Set(
    items.map((item) => (typeof item === "string" ? item : (item.path ?? ("id" in item ? item.id : "")))),
  ),
];

/** Returns whether a path, relative to the source's folder, is part of the sync: of a folder, whether a file in it can be. */
export function filterOf({ include = [], exclude = [] }: Definition["source"]): (path: string) => boolean {
  const wanted = include.map(compile);
  const refused = exclude.map(compile);
  return (path) => {
    const isFolder = path.endsWith("/");
    const isWanted = (glob: Glob) => (isFolder ? glob.mayMatchBelow(path.slice(0, -1)) : glob.matches(path));
    return (
      (wanted.length === 0 || wanted.some(isWanted)) &&
      !refused.some((glob) => glob.matches(isFolder ? `${path}${ANY_NAME}` : path))
    );
  };
}

/** A filename that only patterns for any name match. */
const ANY_NAME = "\0\0";

/** A pattern without a slash, except at its end, matches names at any depth. */
const compile = (pattern: string) =>
  compileGlob(pattern.slice(0, -1).includes("/") ? pattern : `**/${pattern}`);

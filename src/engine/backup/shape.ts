import { sep } from "node:path";
import { type Static, Type } from "@sinclair/typebox";
import { parseJson } from "../../base/json.ts";
import { nullable, object, read } from "../../base/shape.ts";
import { foreign } from "./archive.ts";

/** The first and the last file of a backup. All others come between them. */
export const HEAD = "weir-backup.json";
export const MANIFEST = "manifest.json";
export const DATABASE = "weir.db";
export const KEY_FILE = "secret.key";
/** Folders of the data directory that a backup includes, with the same names. */
export const FOLDERS = ["lake", "files", "artifacts"] as const;

/** Incremented when older programs can no longer read the format. */
const FORMAT = 1;

const Head = object({
  format: Type.Literal("weir-backup"),
  formatVersion: Type.Integer({ minimum: 1 }),
  version: Type.String({ description: "Version of Weir that created the backup" }),
  /** Names of the database's migrations, in order. */
  migrations: Type.Array(Type.String(), { minItems: 1 }),
  createdAt: Type.String(),
});
export type Head = Static<typeof Head>;

const Manifest = object({
  version: Type.String(),
  /** The last migration. */
  schemaVersion: Type.String(),
  createdAt: Type.String(),
  /** ID of the master key that its secrets are encrypted with. */
  keyId: nullable(Type.String()),
  hasKey: Type.Boolean(),
  /** Null if the lake's files are in the backup. Otherwise the bucket they are in. */
  lakeUrl: nullable(Type.String()),
  organizations: Type.Array(
    object({
      id: Type.String(),
      slug: Type.String(),
      /** Number of events in its audit log, and the hash of the last one. */
      events: Type.Integer(),
      head: Type.String(),
    }),
  ),
  parts: Type.Array(object({ path: Type.String(), bytes: Type.Integer(), sha256: Type.String() })),
  /** Missing files of past states, links, and files whose names aren't valid UTF-8. The backup doesn't include them. */
  leftOut: Type.Array(Type.String()),
});
export type Manifest = Static<typeof Manifest>;

export const headText = (head: Omit<Head, "format" | "formatVersion">): string =>
  `${JSON.stringify({ format: "weir-backup", formatVersion: FORMAT, ...head }, null, 2)}\n`;

export const manifestText = (manifest: Manifest): string => `${JSON.stringify(manifest, null, 2)}\n`;

/** Throws `invalid_state` for a file that isn't a backup. An unknown format counts as newer. */
export function readHead(path: string, text: string): Head & { isNewer: boolean } {
  const { value, faults } = read(Head, jsonOf(path, text), []);
  const isNewer = Number((value as Partial<Head> | null)?.formatVersion) > FORMAT;
  if (faults.length > 0 && !isNewer) throw foreign(path);
  return { ...value, isNewer };
}

export function readManifest(path: string, text: string): Manifest {
  const { value, faults } = read(Manifest, jsonOf(path, text), []);
  if (faults.length > 0) throw foreign(path);
  return value;
}

function jsonOf(path: string, text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    throw foreign(path); // not a backup
  }
}

/** What the name of a file can't contain on this system: where a backslash is a separator, it would lead elsewhere. */
const FORBIDDEN = sep === "\\" ? /[\\\0]/ : /\0/;

/** Returns whether a part's name is a safe path within a data directory. */
export function isPartName(name: string): boolean {
  if (name === DATABASE || name === KEY_FILE) return true;
  const [folder, ...rest] = name.split("/");
  return (
    FOLDERS.some((one) => one === folder) &&
    rest.length > 0 &&
    rest.every((step) => step !== "" && step !== "." && step !== ".." && !FORBIDDEN.test(step))
  );
}

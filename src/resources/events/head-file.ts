import { readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { type Static, Type } from "@sinclair/typebox";
import { codeOf } from "../../base/disk.ts";
import { canonicalJson, parseJson } from "../../base/json.ts";
import { read } from "../../base/shape.ts";
import type { SecretBox } from "../../crypto/secretbox.ts";
import { flushFolder, writeBeside } from "../../folder.ts";

/**
 * The newest seals, stored next to the database in the data directory: an older copy of the database lacks their
 * events. Written after the seals are committed, so after a crash it can be behind, but never ahead.
 */
const HeadFile = Type.Object({
  seals: Type.Record(
    Type.String(),
    Type.Object({ seq: Type.Integer(), count: Type.Integer(), hash: Type.String() }),
  ),
  mac: Type.String(),
});
export type StoredSeals = Static<typeof HeadFile>["seals"];

export const HEAD_FILE = "trail.json";
const PURPOSE = "trail-file";

/** Returns the stored seals by organization. Null if there is no file, or this installation didn't write it. */
export function readHeadFile(dataFolder: string, secrets: Pick<SecretBox, "verify">): StoredSeals | null {
  const text = textOf(join(dataFolder, HEAD_FILE));
  if (text === null) return null;
  const { value, faults } = read(HeadFile, jsonOf(text), []);
  if (faults.length > 0 || !secrets.verify(canonicalJson(value.seals), PURPOSE, value.mac)) return null;
  return value.seals;
}

/** Writes the file in one step that survives a crash. */
export function writeHeadFile(
  dataFolder: string,
  secrets: Pick<SecretBox, "sign">,
  seals: StoredSeals,
): void {
  const file = join(dataFolder, HEAD_FILE);
  const mac = secrets.sign(canonicalJson(seals), PURPOSE);
  renameSync(writeBeside(file, `${JSON.stringify({ seals, mac })}\n`), file);
  flushFolder(file);
}

function textOf(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    throw error;
  }
}

function jsonOf(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return null; // Its shape rejects it.
  }
}

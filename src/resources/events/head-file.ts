import { readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { type Static, Type } from "@sinclair/typebox";
import { codeOf } from "../../base/disk.ts";
import { canonicalJson, parseJson } from "../../base/json.ts";
import { read } from "../../base/shape.ts";
import type { SecretBox } from "../../crypto/secretbox.ts";
import { flushFolder, writeBeside } from "../../folder.ts";

/**
 * The newest seals, kept beside the database in the data directory: a database file that is put back from an older
 * copy lacks their events. Written after the seals are committed, so a crash leaves it behind and never ahead.
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

/** The kept seals by organization; null where there is no file, or one that this installation did not write. */
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
    return null; // refused by its shape
  }
}

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { codeOf } from "../base/disk.ts";

/**
 * In the scratch directory, which the next start empties: the URL is useful only while a server has the data directory.
 */
const fileIn = (dataFolder: string) => join(dataFolder, "scratch", "address");

/** Allows other commands on this machine to find the server that has the data directory. */
export const noteAddress = (dataFolder: string, url: string): void =>
  writeFileSync(fileIn(dataFolder), url, { mode: 0o600 });

/** URL of the server that has the data directory. Null if it isn't known yet. */
export function addressIn(dataFolder: string): string | null {
  try {
    return readFileSync(fileIn(dataFolder), "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    throw error;
  }
}

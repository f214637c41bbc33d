import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { codeOf } from "../base/disk.ts";

/** In the scratch space, which the next start empties: what it says is of use only while the folder is taken. */
const fileIn = (dataFolder: string) => join(dataFolder, "scratch", "address");

/** Lets other commands of this machine find the server that has the data directory. */
export const noteAddress = (dataFolder: string, url: string): void =>
  writeFileSync(fileIn(dataFolder), url, { mode: 0o600 });

/** The URL of the server that has the data directory; null if it hasn't told yet. */
export function addressIn(dataFolder: string): string | null {
  try {
    return readFileSync(fileIn(dataFolder), "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    throw error;
  }
}

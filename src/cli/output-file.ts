import { existsSync } from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import { AppError } from "../base/errors.ts";

/** Throws `conflict`: existing files aren't overwritten. */
export function refuseExisting(path: string): void {
  if (existsSync(path)) throw new AppError("conflict", `${path} already exists. Choose another filename.`);
}

/**
 * Writes a file under a temporary name and renames it when it is complete, readable only by its owner.
 * Returns its size in bytes.
 */
export async function saveFile(body: AsyncIterable<Uint8Array>, path: string): Promise<number> {
  const part = `${path}.part`;
  const file = await open(part, "w", 0o600);
  try {
    let bytes = 0;
    for await (const chunk of body) {
      await file.writeFile(chunk);
      bytes += chunk.length;
    }
    await file.sync();
    await file.close();
    await rename(part, path);
    return bytes;
  } catch (error) {
    await file.close();
    await rm(part, { force: true });
    throw error;
  }
}

import { mkdir, open, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { diskFull, syncFolder } from "../base/disk.ts";
import type { BlobStore } from "./contract.ts";
import { filesBelow } from "./leftovers.ts";

/** A blob store in a local folder. */
export const openFolderBlobs = (root: string): BlobStore => ({
  put: (path, content) => writeDurably(join(root, path), content),
  async open(path) {
    const file = Bun.file(join(root, path));
    return (await file.exists()) ? file : null;
  },
  remove: (path) => rm(join(root, path), { force: true }),
  list: (before) => filesBelow(root, before),
});

/** Writes a new file and syncs the file and its folder entry to disk. */
async function writeDurably(target: string, content: string | Uint8Array | Blob): Promise<void> {
  try {
    await mkdir(dirname(target), { recursive: true, mode: 0o700 });
    const file = await open(target, "wx", 0o600);
    try {
      if (content instanceof Blob) for await (const piece of content.stream()) await file.write(piece);
      else await file.writeFile(content);
      await file.sync();
    } finally {
      await file.close();
    }
    await syncFolder(dirname(target));
  } catch (error) {
    await rm(target, { force: true });
    throw diskFull(error, "The disk for artifacts is full. Free some space and try again.") ?? error;
  }
}

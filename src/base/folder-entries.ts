import { isUtf8 } from "node:buffer";
import { lstat, readdir } from "node:fs/promises";
import { sep } from "node:path";

/** An entry of a folder. */
export interface FolderEntry {
  name: string;
  kind: "file" | "folder" | "link" | "other";
  /** True if the name isn't valid UTF-8. Then `name` is only similar, and no path of text leads to the entry. */
  isMisnamed: boolean;
  /** The path as the file system has it. */
  path: string | Buffer;
}

/** What decoding puts in place of bytes that aren't UTF-8. Few valid names have it. */
export const REPLACEMENT = "\uFFFD";

/** All entries of a folder, in no order, also those whose names can't be decoded. */
export async function readEntries(folder: string): Promise<FolderEntry[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const at = folder.endsWith(sep) ? folder : `${folder}${sep}`;
  if (!entries.some(({ name }) => name.includes(REPLACEMENT)))
    return entries.map((entry) => ({
      name: entry.name,
      kind: kindOf(entry),
      isMisnamed: false,
      path: `${at}${entry.name}`,
    }));
  const exact: FolderEntry[] = [];
  for (const bytes of await readdir(folder, { encoding: "buffer" })) {
    const path = Buffer.concat([Buffer.from(at), bytes]);
    const found = await lstat(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return null; // deleted in the meantime
      throw error;
    });
    const isMisnamed = !isUtf8(bytes);
    if (found)
      exact.push({
        name: bytes.toString(),
        kind: kindOf(found),
        isMisnamed,
        path: isMisnamed ? path : path.toString(),
      });
  }
  return exact;
}

const kindOf = (entry: {
  isFile(): boolean;
  isDirectory(): boolean;
  isSymbolicLink(): boolean;
}): FolderEntry["kind"] =>
  entry.isFile() ? "file" : entry.isDirectory() ? "folder" : entry.isSymbolicLink() ? "link" : "other";

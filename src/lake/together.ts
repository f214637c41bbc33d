import { AppError } from "../base/errors.ts";
import type { BlobStore, Lake } from "./contract.ts";

/** Whether peers that share the database also share this data directory. */
interface Others {
  isApart(): Promise<boolean>;
  requireTogether(what: string): Promise<void>;
}

/** A lake in the data directory of a process with peers. It rejects new files if the peers can't see them. */
export const lakeTogether = (lake: Lake, others: Others): Lake => ({
  ...lake,
  async add(at, file) {
    await others.requireTogether("The dataset's files");
    return lake.add(at, file);
  },
  async write(folder, files) {
    await others.requireTogether("The dataset's files");
    return lake.write(folder, files);
  },
  async localPath(file, hold) {
    const path = await lake.localPath(file, hold);
    if (!(await Bun.file(path).exists()) && (await others.isApart()))
      throw elsewhere("A file of the dataset lies");
    return path;
  },
});

export const blobsTogether = (blobs: BlobStore, others: Others): BlobStore => ({
  ...blobs,
  async put(path, content) {
    await others.requireTogether("A large artifact");
    return blobs.put(path, content);
  },
  async open(path) {
    const content = await blobs.open(path);
    if (content === null && (await others.isApart())) throw elsewhere("The artifact lies");
    return content;
  },
});

const elsewhere = (what: string) =>
  new AppError(
    "invalid_state",
    `${what} in the data directory of another process. Give all processes the same data directory, or set WEIR_LAKE_URL to a bucket for all of them.`,
  );

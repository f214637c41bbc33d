import type { JsonObject } from "../base/json.ts";
import type { Link } from "./contract.ts";

/** A file in a folder tree, with what shows whether it has changed. */
export interface TreeFile {
  /** The provider's own ID. */
  id: string;
  /** Path below the listed folder, with `/` between names and no leading one. Not sanitized. */
  path: string;
  /** Null if it is known only after the file has been read. */
  size: number | null;
  modifiedAt: string | null;
  /** Changes whenever the bytes change. */
  version: string;
  /** Files of equal size and hash have the same bytes, wherever they are. Null if unknown. */
  hash: string | null;
}

/** Bytes of a file as stored, with its format. */
export interface Opened {
  /** A small file may arrive in one piece. */
  bytes: ReadableStream<Uint8Array> | Uint8Array<ArrayBuffer>;
  contentType?: string | null;
  contentEncoding?: string | null;
}

/** Identity of a written file, as `walk` will report it. */
export interface Stamp {
  version: string;
  size: number;
}

export type Unread = (path: string, reason: string) => void;

/** Folder trees, as a sync reads and writes them: with as few requests as possible. */
export interface Tree<L = Link> {
  /** Identifies the root and ends with `/`. If one tree contains another, its home is a prefix of the other's. */
  home(link: L): string;
  /**
   * Lists all files below `path`, in no order, without folders. `only` selects files and folders by path or ID.
   * `missing` is called for each that doesn't exist. Throws `not_found`.
   *
   * `unread` is called for each file, or folder with `/` at its end, that is there and can't be read, with a clause
   * that says why.
   */
  walk(
    link: L,
    path: string,
    only?: { items: readonly string[]; missing(item: string): void },
    unread?: Unread,
  ): AsyncIterable<TreeFile>;
  /** The current file. Null if it no longer exists. */
  stat(link: L, file: TreeFile): Promise<TreeFile | null>;
  /** Reads exactly this version. Throws `upstream` (retryable), also within the stream, if the file has changed. */
  open(link: L, file: TreeFile): Promise<Opened>;
  /** Absent if files can only be read. */
  readonly writes?: TreeWrites<L>;
}

interface TreeWrites<L = Link> {
  /** True if two names can't differ by case alone, and a file can't have the name of a folder. */
  readonly isFolderLike: boolean;
  /** True if a file can have the name of a folder, but one of them is then listed under another name. */
  readonly renamesTwins?: boolean;
  /** Returns why this config can't write, as a sentence. Null if it can. */
  refusal?(config: JsonObject): string | null;
  /** Returns why a file can't be at this path, as a clause. Null if it can. */
  fault(link: L, path: string): string | null;
  /**
   * Writes all or nothing. `size` is the expected number of bytes, null if unknown. With `replacesFolder`, first removes
   * a folder at the path if there is no file in it.
   */
  put(link: L, path: string, file: Opened, size: number | null, replacesFolder?: boolean): Promise<Stamp>;
  /** Copies within the external system. Null if it can't, so that the bytes have to be transferred. */
  copy?(from: L, file: TreeFile, to: L, path: string): Promise<Stamp | null>;
  /** A missing file is not an error. */
  remove(link: L, path: string): Promise<void>;
}

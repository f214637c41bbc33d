/** One file of the admin page or of the documents, as it is served. */
export interface WebFile {
  /** Without a leading slash. */
  path: string;
  type: string;
  /** Its name changes with its content. */
  isHashed: boolean;
  etag: string;
  body: Blob;
  /** The body, compressed; null where that gains nothing. */
  brotli: Blob | null;
}

/** A file that was just built. */
interface Built {
  path: string;
  type: string;
  isHashed: boolean;
  bytes: Uint8Array<ArrayBuffer>;
}

export const toWebFile = ({ path, type, isHashed, bytes }: Built): WebFile => ({
  path,
  type,
  isHashed,
  etag: `"${Bun.hash(bytes).toString(36)}"`,
  body: new Blob([bytes], { type }),
  brotli: null,
});

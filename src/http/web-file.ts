/** A file of the admin page or of the documents. */
export interface WebFile {
  /** Without a leading slash. */
  path: string;
  type: string;
  /** True if its name changes with its content. */
  isHashed: boolean;
  etag: string;
  body: Blob;
  /** The compressed body. Null if compression doesn't help. */
  brotli: Blob | null;
}

/** A newly built file. */
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

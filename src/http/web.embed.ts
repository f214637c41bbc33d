/** One file of the admin page, as it is served. */
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

/**
 * The admin page, bundled from web/ when first asked for. In the executable this whole module is another one,
 * which carries the files (`embedWeb` in scripts/plugins.ts).
 */
export async function openWebFiles(): Promise<WebFile[]> {
  const { buildWeb } = await import("../../scripts/web.ts");
  const files = await buildWeb();
  return files.map(({ path, type, isHashed, bytes }) => ({
    path,
    type,
    isHashed,
    etag: `"${Bun.hash(bytes).toString(36)}"`,
    body: new Blob([bytes], { type }),
    brotli: null,
  }));
}

import { promisify } from "node:util";
import { pageBelow } from "../base/base-path.ts";
import type { WebFile } from "./web-file.ts";

/** The best level takes a second for the largest file, while a client waits. */
const FAIR_QUALITY = 9;

/** How the files of the admin page refer to each other. */
const ADDRESS = /(["'`(=])\/assets\//g;

const files = new Map<string, Promise<WebFile>>();

/** Returns a file of the admin page rewritten for `base`. Created on first use. */
export function fileBelow(file: WebFile, base: string): WebFile | Promise<WebFile> {
  if (base === "" || !file.type.startsWith("text/")) return file;
  const key = `${base}/${file.path}`;
  const known = files.get(key);
  if (known) return known;
  const made = make(file, base);
  files.set(key, made);
  return made;
}

async function make(file: WebFile, base: string): Promise<WebFile> {
  const text = await file.body.text();
  const isPage = file.type.startsWith("text/html");
  const bytes = new TextEncoder().encode(
    isPage ? pageBelow(text, base) : text.replace(ADDRESS, `$1${base}/assets/`),
  );
  return {
    ...file,
    etag: `"${Bun.hash(bytes).toString(36)}"`,
    body: new Blob([bytes], { type: file.type }),
    brotli: file.brotli && new Blob([await compressed(bytes)]),
  };
}

async function compressed(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const { brotliCompress, constants } = await import("node:zlib");
  return promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: FAIR_QUALITY } });
}

import type { FileFormat } from "../contract.ts";

const FORMATS: Readonly<Record<string, FileFormat>> = {
  csv: "csv",
  tsv: "tsv",
  tab: "tsv",
  json: "json",
  jsonl: "jsonl",
  ndjson: "jsonl",
  parquet: "parquet",
  pq: "parquet",
  avro: "avro",
  xlsx: "xlsx",
  xlsm: "xlsx",
};

/** Filename extensions that an extract reads, without those of compressed files. */
export const FILE_ENDINGS: readonly string[] = Object.keys(FORMATS);

export type Compression = "gz" | "zst";
const COMPRESSIONS: Readonly<Record<string, Compression>> = { gz: "gz", zst: "zst", zstd: "zst" };

const MIME_TYPES: Readonly<Record<string, string>> = {
  csv: "text/csv",
  tsv: "text/tab-separated-values",
  txt: "text/plain",
  log: "text/plain",
  md: "text/markdown",
  html: "text/html",
  htm: "text/html",
  css: "text/css",
  json: "application/json",
  jsonl: "application/x-ndjson",
  ndjson: "application/x-ndjson",
  xml: "application/xml",
  yaml: "application/yaml",
  yml: "application/yaml",
  parquet: "application/vnd.apache.parquet",
  pdf: "application/pdf",
  zip: "application/zip",
  gz: "application/gzip",
  tar: "application/x-tar",
  xls: "application/vnd.ms-excel",
  xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  docx: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
  pptx: "application/vnd.openxmlformats-officedocument.presentationml.presentation",
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
  svg: "image/svg+xml",
};

const extension = (name: string): string => /\.([^./]+)$/.exec(name)?.[1]?.toLowerCase() ?? "";

/** Format by the filename's extension. Null if unknown. */
export const mimeTypeOf = (name: string): string | null => MIME_TYPES[extension(name)] ?? null;

/** How an extract reads a file of this name; `format` is null if the name doesn't show it. */
export function kindOf(name: string): { format: FileFormat | null; compression: Compression | null } {
  const compression = COMPRESSIONS[extension(name)] ?? null;
  const plain = compression === null ? name : name.slice(0, name.lastIndexOf("."));
  return { format: FORMATS[extension(plain)] ?? null, compression };
}

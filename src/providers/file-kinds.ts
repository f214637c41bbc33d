/** What an extract can read. */
export type FileFormat = "csv" | "json" | "jsonl" | "parquet";

const FORMATS: Readonly<Record<string, FileFormat>> = {
  csv: "csv",
  tsv: "csv",
  json: "json",
  jsonl: "jsonl",
  ndjson: "jsonl",
  parquet: "parquet",
  pq: "parquet",
};

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

/** By the name's extension; null where it tells nothing. */
export const mimeTypeOf = (name: string): string | null => MIME_TYPES[extension(name)] ?? null;

/** How an extract reads a file of this name; null for one that it can't. Text formats may be gzipped. */
export function formatOf(name: string): { format: FileFormat; gzipped: boolean } | null {
  const gzipped = extension(name) === "gz";
  const format = FORMATS[extension(gzipped ? name.slice(0, -3) : name)];
  if (format === undefined || (gzipped && format === "parquet")) return null;
  return { format, gzipped };
}

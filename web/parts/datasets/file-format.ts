const FORMATS = {
  csv: "csv",
  tsv: "tsv",
  json: "json",
  jsonl: "jsonl",
  ndjson: "jsonl",
  parquet: "parquet",
} as const;

/** Reads the format, and a name for a new dataset, from a filename. */
export function readFileName(name: string) {
  const [stem = "", ...ends] = name
    .toLowerCase()
    .replace(/\.(gz|zst)$/, "")
    .split(".");
  const format = FORMATS[ends.at(-1) as keyof typeof FORMATS];
  const dataset = stem
    .normalize("NFKD")
    .replace(/[^a-z0-9]+/g, "_")
    .replace(/^_+|_+$/g, "")
    .replace(/^(?=\d)/, "_");
  return { format, dataset: dataset || "upload" };
}

import type { SaveFormat } from "./contract.ts";

/** Media types of saved files. */
export const MEDIA_TYPES: Readonly<Record<SaveFormat, string>> = {
  csv: "text/csv",
  jsonl: "application/x-ndjson",
  parquet: "application/vnd.apache.parquet",
  xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
};

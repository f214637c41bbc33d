import type { SaveFormat } from "./contract.ts";

/** Of files that rows are saved as. */
export const MEDIA_TYPES: Readonly<Record<SaveFormat, string>> = {
  csv: "text/csv",
  jsonl: "application/x-ndjson",
  parquet: "application/vnd.apache.parquet",
  xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
};

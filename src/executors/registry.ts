import { conditionalBranch } from "./conditional-branch.ts";
import type { Executors } from "./contract.ts";
import { dltExtract } from "./dlt-extract.ts";
import { duckdbTransform } from "./duckdb-transform.ts";
import { httpRequest } from "./http-request.ts";

/** To add a kind: write its file, add its line. */
export const executors: Executors = {
  dlt_extract: dltExtract,
  duckdb_transform: duckdbTransform,
  http_request: httpRequest,
  conditional_branch: conditionalBranch,
};

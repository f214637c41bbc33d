import { approvalGate } from "./approval-gate.ts";
import { callAutomation } from "./call-automation.ts";
import { conditionalBranch } from "./conditional-branch.ts";
import type { Executors } from "./contract.ts";
import { createFlashboard } from "./create-flashboard.ts";
import { dltExtract } from "./dlt-extract.ts";
import { duckdbTransform } from "./duckdb-transform.ts";
import { httpRequest } from "./http-request.ts";

/** To add a kind: write its file, add its line. */
export const executors: Executors = {
  dlt_extract: dltExtract,
  duckdb_transform: duckdbTransform,
  http_request: httpRequest,
  create_flashboard: createFlashboard,
  approval_gate: approvalGate,
  conditional_branch: conditionalBranch,
  call_automation: callAutomation,
};

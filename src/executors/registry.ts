import { agentFetchPage } from "./agent-fetch-page.ts";
import { agentSearch } from "./agent-search.ts";
import { approvalGate } from "./approval-gate.ts";
import { callAgent } from "./call-agent.ts";
import { callAutomation } from "./call-automation.ts";
import { conditionalBranch } from "./conditional-branch.ts";
import type { Executors } from "./contract.ts";
import { createFlashboard } from "./create-flashboard.ts";
import { dltExtract } from "./dlt-extract.ts";
import { duckdbTransform } from "./duckdb-transform.ts";
import { explainSchema } from "./explain-schema.ts";
import { fetchPage } from "./fetch-page.ts";
import { fileSync } from "./file-sync.ts";
import { generateQuery } from "./generate-query.ts";
import { httpRequest } from "./http/request.ts";
import { runScript } from "./run-script.ts";
import { sendMessage } from "./send-message.ts";
import { webSearch } from "./web-search.ts";

/** To add a kind, add its file and its line. */
export const executors: Executors = {
  dlt_extract: dltExtract,
  file_sync: fileSync,
  duckdb_transform: duckdbTransform,
  run_script: runScript,
  http_request: httpRequest,
  send_message: sendMessage,
  call_agent: callAgent,
  generate_query: generateQuery,
  explain_schema: explainSchema,
  agent_search: agentSearch,
  agent_fetch_page: agentFetchPage,
  create_flashboard: createFlashboard,
  approval_gate: approvalGate,
  conditional_branch: conditionalBranch,
  call_automation: callAutomation,
  web_search: webSearch,
  fetch_page: fetchPage,
};

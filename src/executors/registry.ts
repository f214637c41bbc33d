import { conditionalBranch } from "./conditional-branch.ts";
import type { Executors } from "./contract.ts";
import { httpRequest } from "./http-request.ts";

/** To add a kind: write its file, add its line. */
export const executors: Executors = {
  http_request: httpRequest,
  conditional_branch: conditionalBranch,
};

import type { JsonObject } from "../../../base/json.ts";
import type { ToolKind } from "../grammar.ts";
import { actionTool } from "./action.ts";
import { apiTool } from "./api.ts";
import { automationTool } from "./automation.ts";
import { connectionTool } from "./connection.ts";
import type { ToolSource } from "./contract.ts";
import { datasetsTool } from "./datasets.ts";
import { kindTool } from "./kind.ts";
import { queryTool } from "./query.ts";

/** Each kind of tool that specs may name; one without a line is told to be missing when the agent is opened. */
export const toolSources: Readonly<Partial<Record<ToolKind, ToolSource>>> = {
  query: queryTool,
  datasets: datasetsTool,
  api: apiTool,
  action: actionTool,
  automation: automationTool,
  connection: connectionTool,
  web_search: kindTool("web_search", "Searches the web and gives titles, addresses and snippets.", {
    type: "object",
    properties: {
      query: { type: "string", minLength: 1, maxLength: 500 },
      maxResults: { type: "integer", minimum: 1, maximum: 20 },
    },
    required: ["query"],
    additionalProperties: false,
  }),
  fetch_page: kindTool(
    "fetch_page",
    "Reads a public web page as Markdown. Addresses that were given to you are read at once; for others a person is asked.",
    {
      type: "object",
      properties: { url: { type: "string", minLength: 1, maxLength: 2048, pattern: "^https?://" } },
      required: ["url"],
      additionalProperties: false,
    },
    isOwnAddress,
  ),
};

/**
 * True for an address that nobody gave the model: it may have been made up to carry words away. One that stands in
 * what a person said, in the spec, or in a page or a hit, carries nothing that was not there.
 */
function isOwnAddress({ url }: JsonObject, said: string): boolean {
  return typeof url !== "string" || !said.includes(url);
}

import type { JsonObject } from "../../../base/json.ts";
import type { Heard } from "../../../models/contract.ts";
import { spelt } from "../../../models/heard.ts";
import type { ToolKind } from "../grammar.ts";
import { actionTool } from "./action.ts";
import { apiTool } from "./api.ts";
import { automationTool } from "./automation.ts";
import { connectionTool } from "./connection.ts";
import type { Audience, ToolSource } from "./contract.ts";
import { datasetsTool } from "./datasets.ts";
import { kindTool } from "./kind.ts";
import { queryTool } from "./query.ts";

/** Each kind of tool that specs can name, and who receives its arguments. */
export const toolSources: Readonly<Record<ToolKind, { source: ToolSource; audience: Audience }>> = {
  query: { source: queryTool, audience: "inside" },
  datasets: { source: datasetsTool, audience: "inside" },
  api: { source: apiTool, audience: "outside" },
  action: { source: actionTool, audience: "outside" },
  automation: { source: automationTool, audience: "outside" },
  connection: { source: connectionTool, audience: "inside" }, // Names in the organization's own systems.
  web_search: {
    audience: "outside",
    source: kindTool(
      "web_search",
      "Searches the web and gives titles, addresses and snippets. Once you have read data of the organization, a person is asked first.",
      {
        type: "object",
        properties: {
          query: { type: "string", minLength: 1, maxLength: 500 },
          maxResults: { type: "integer", minimum: 1, maximum: 20 },
        },
        required: ["query"],
        additionalProperties: false,
      },
      { isSearch: true },
    ),
  },
  fetch_page: {
    audience: "address",
    source: kindTool(
      "fetch_page",
      "Reads a public web page as Markdown. Addresses that a person wrote, and hits of a search, are read at once; for others, such as links of a page, a person is asked.",
      {
        type: "object",
        properties: { url: { type: "string", minLength: 1, maxLength: 2048, pattern: "^https?://" } },
        required: ["url"],
        additionalProperties: false,
      },
      { asksFor: isChosen },
    ),
  },
};

/** Maximum number of pages read in one turn without approval. */
const MAX_UNASKED = 10;

/**
 * Returns whether a model could send data out through a URL, so that a user must approve it. URLs written by a user or
 * in the spec are allowed. So are search results, as long as the agent hasn't read data of the organization:
 * otherwise it could search for a page that encodes what it knows.
 * Links in a page are never allowed, since a page can list a URL for every value it wants to learn.
 * What remains is a choice among at most ten times the number of given URLs, a few bits each.
 */
function isChosen({ url }: JsonObject, { writtenUrls, found, hasData, made }: Heard): boolean {
  const address = typeof url === "string" ? spelt(url) : null;
  if (address === null || (made.get("fetch_page") ?? 0) >= MAX_UNASKED) return true;
  return !writtenUrls.has(address) && (hasData || !found.has(address));
}

import { Type } from "@sinclair/typebox";
import { described, named, nullable, object, oneOf, optional } from "../base/shape.ts";
import { FRESHNESS } from "../search/contract.ts";
import { type Done, defineExecutor } from "./contract.ts";

const DEFAULT_RESULTS = 10;

/** Queries the operator's search engine. A second attempt is safe: it only reads. */
export const webSearch = defineExecutor({
  kind: "web_search",
  inBulk: () => true,
  title: "Web search",
  description: "Searches the web with the search engine that the operator has configured.",
  providers: [],
  hasEffects: () => false,
  definition: object({
    query: described("Search query", named(1000)),
    maxResults: optional(
      described(
        "Maximum number of results",
        Type.Integer({ minimum: 1, maximum: 50, default: DEFAULT_RESULTS }),
      ),
    ),
    freshness: optional(described("Maximum age of the results", oneOf(FRESHNESS))),
  }),
  result: object({
    results: Type.Array(
      object({
        title: Type.String(),
        url: Type.String(),
        snippet: Type.String(),
        publishedAt: nullable(Type.String()),
      }),
    ),
    provider: Type.String(),
  }),

  async execute(
    { search, signal, progress, log },
    { query, maxResults = DEFAULT_RESULTS, freshness = null },
  ): Promise<Done> {
    progress({ phase: "search", message: query.slice(0, 200) });
    const results = await search.find({ query, maxResults, freshness }, signal);
    log("info", `${search.provider} found ${results.length} pages.`);
    return { result: { results: results.map((hit) => ({ ...hit })), provider: search.provider ?? "" } };
  },
});

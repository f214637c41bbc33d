import { Type } from "@sinclair/typebox";
import { AppError } from "../base/errors.ts";
import type { JsonObject } from "../base/json.ts";
import { described, named, object, optional } from "../base/shape.ts";
import { asPage, UNTRUSTED } from "./agent-fetch-page.ts";
import { type Done, defineExecutor, type RunContext } from "./contract.ts";
import { answerOf } from "./model/answer.ts";
import { type Fetched, readWebPage } from "./page/fetch.ts";

const MAX_BYTES = 2 * 1024 * 1024;
const PAGE_CHARACTERS = 20_000;
const MAX_QUERIES = 3;

const PLAN: JsonObject = {
  type: "object",
  required: ["queries"],
  properties: {
    queries: {
      type: "array",
      minItems: 1,
      maxItems: MAX_QUERIES,
      items: { type: "string", minLength: 1, maxLength: 400 },
    },
  },
};
const ANSWER: JsonObject = {
  type: "object",
  required: ["answer", "citations"],
  properties: {
    answer: { type: "string" },
    citations: {
      type: "array",
      maxItems: 20,
      items: {
        type: "object",
        required: ["page", "quote"],
        properties: {
          page: { type: "integer", minimum: 1 },
          quote: { type: "string", minLength: 1, maxLength: 1000 },
        },
      },
    },
  },
};
type Plan = JsonObject & { queries: string[] };
type Answer = JsonObject & { answer: string; citations: { page: number; quote: string }[] };

/**
 * Searches the web for a question, reads the best pages, and answers from them with quotes that occur in the pages. A
 * second attempt is safe: it only reads.
 */
export const agentSearch = defineExecutor({
  kind: "agent_search",
  title: "Search with a model",
  description: "Has a model answer a question from web pages, with a quote for each source.",
  providers: [],
  hasEffects: () => false,
  definition: object({
    question: described("Question to answer", named(10_000)),
    maxResults: optional(
      described(
        "Maximum number of results to use from each search",
        Type.Integer({ minimum: 1, maximum: 20, default: 5 }),
      ),
    ),
    maxPages: optional(
      described("Maximum number of pages to read", Type.Integer({ minimum: 1, maximum: 10, default: 3 })),
    ),
  }),
  result: object({
    answer: Type.String(),
    citations: Type.Array(object({ url: Type.String(), title: Type.String(), quote: Type.String() })),
    queries: Type.Array(Type.String()),
    usage: object({ inputTokens: Type.Integer(), outputTokens: Type.Integer() }),
    warnings: Type.Array(Type.String()),
  }),

  async execute(ctx, { question, maxResults = 5, maxPages = 3 }): Promise<Done> {
    ctx.progress({ phase: "plan", message: question.slice(0, 200) });
    const plan = await answerOf<Plan>(ctx, {
      system:
        "You plan searches of the web. Give the queries, in the words of a search engine, that find what answers the question; one where one is enough.",
      prompt: question,
      schema: PLAN,
    });
    const { queries } = plan.value;
    const addresses = new Map<string, string>();
    for (const query of queries) {
      ctx.progress({ phase: "search", message: query });
      for (const hit of await ctx.search.find({ query, maxResults, freshness: null }, ctx.signal))
        addresses.set(hit.url, hit.title);
    }
    const warnings: string[] = [];
    const pages = await readPages(
      ctx,
      [...addresses].slice(0, maxResults * queries.length),
      maxPages,
      warnings,
    );
    if (pages.length === 0)
      throw new AppError(
        "upstream",
        `No page could be read for ${queries.join(", ")}. ${warnings.join(" ")}`.trim(),
      );
    ctx.progress({ phase: "answer", message: `${pages.length} pages` });
    const material = pages.map(
      (page, at) => `Page ${at + 1}: ${page.finalUrl}\n${asPage(page.content.slice(0, PAGE_CHARACTERS))}`,
    );
    const result = await answerOf<Answer>(
      ctx,
      {
        system: `You answer questions from pages of the web. ${UNTRUSTED} Use only what they say. Each citation names its page by number and quotes it word for word.`,
        prompt: `${question}\n\n${material.join("\n\n")}`,
        schema: ANSWER,
      },
      ({ citations }) => {
        const wrong = citations.find(({ page, quote }) => !isQuoted(pages[page - 1], quote));
        return wrong ? `Page ${wrong.page} does not say "${wrong.quote.slice(0, 200)}" word for word.` : null;
      },
    );
    const { answer, citations } = result.value;
    return {
      result: {
        answer,
        citations: citations.map(({ page, quote }) => {
          const of = pages[page - 1];
          return { url: of?.finalUrl ?? "", title: of?.title ?? "", quote };
        }),
        queries,
        usage: {
          inputTokens: plan.usage.inputTokens + result.usage.inputTokens,
          outputTokens: plan.usage.outputTokens + result.usage.outputTokens,
        },
        warnings,
      },
    };
  },
});

/** Returns the first pages that can be read. `warnings` gets those that can't. */
async function readPages(
  ctx: RunContext,
  hits: readonly [url: string, title: string][],
  most: number,
  warnings: string[],
): Promise<Fetched[]> {
  const pages: Fetched[] = [];
  for (const [url, title] of hits) {
    if (pages.length >= most) break;
    ctx.progress({ phase: "read", message: title, current: pages.length, total: most, unit: "pages" });
    try {
      pages.push(await readWebPage(ctx, url, { format: "markdown", maxBytes: MAX_BYTES }));
      ctx.log("info", `Read ${url}.`);
    } catch (error) {
      if (!(error instanceof AppError) || ctx.signal.aborted) throw error;
      warnings.push(`${url} could not be read: ${error.message}`);
    }
  }
  return pages;
}

const words = (text: string) =>
  text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, " ")
    .trim();
const isQuoted = (page: Fetched | undefined, quote: string): boolean =>
  page !== undefined && words(page.content).includes(words(quote));

import { Type } from "@sinclair/typebox";
import { AppError } from "../base/errors.ts";
import { described, nullable, object, oneOf, optional } from "../base/shape.ts";
import { PAGE_FORMATS } from "../reader/contract.ts";
import { type Done, defineExecutor, type RunContext } from "./contract.ts";
import { isFixedAddress } from "./page/address.ts";
import { type Fetched, readWebPage } from "./page/fetch.ts";

const DEFAULT_BYTES = 5 * 1024 * 1024;

/**
 * Reads a web page as a person would see it: without navigation, scripts and hidden text.
 *
 * A second attempt is safe: it sends a GET request and stores nothing. Status codes 400 to 499 aren't retried.
 */
export const fetchPage = defineExecutor({
  kind: "fetch_page",
  inBulk: () => true,
  title: "Fetch page",
  description: "Fetches a web page and extracts its main content as Markdown, text or HTML.",
  providers: [],
  hasEffects: ({ url }) => !isFixedAddress(url),
  urlFields: ["url"],
  definition: object({
    url: described("URL of the page (http or https)", Type.String({ minLength: 1, maxLength: 8192 })),
    format: optional(described("Format of the result", oneOf(PAGE_FORMATS, { default: "markdown" }))),
    maxBytes: optional(
      described(
        "Maximum size in bytes. A larger page is truncated, with a warning",
        Type.Integer({ minimum: 1, maximum: 50 * 1024 * 1024, default: DEFAULT_BYTES }),
      ),
    ),
    includeLinks: optional(
      described("Whether to include the links of the page", Type.Boolean({ default: false })),
    ),
  }),
  result: object({
    url: Type.String(),
    finalUrl: Type.String(),
    status: Type.Integer(),
    title: nullable(Type.String()),
    content: Type.String(),
    links: Type.Array(object({ text: Type.String(), url: Type.String() })),
    publishedAt: nullable(Type.String()),
    truncated: Type.Boolean(),
  }),
  check: ({ url }) =>
    url.includes("{{") || isWebAddress(url)
      ? []
      : [{ path: ["url"], message: "A web URL starts with http:// or https://." }],

  async execute(
    ctx,
    { url, format = "markdown", maxBytes = DEFAULT_BYTES, includeLinks = false },
  ): Promise<Done> {
    if (!isWebAddress(url))
      throw new AppError("definition_invalid", "A web URL starts with http:// or https://.");
    const page = await read(ctx, url, { format, maxBytes });
    return { result: { ...page, links: includeLinks ? page.links.map((link) => ({ ...link })) : [] } };
  },
});

const isWebAddress = (url: string) => /^https?:\/\//i.test(url) && URL.canParse(url);

async function read(
  ctx: RunContext,
  url: string,
  options: Parameters<typeof readWebPage>[2],
): Promise<Fetched> {
  ctx.progress({ phase: "fetch", message: new URL(url).host });
  const page = await readWebPage(ctx, url, options);
  ctx.log(
    "info",
    `Read ${new URL(page.finalUrl).host}: ${page.content.length} characters of ${options.format}.`,
  );
  if (page.truncated)
    ctx.log("warn", `The page is longer than maxBytes (${options.maxBytes}) and was cut off.`);
  return page;
}

import { Type } from "@sinclair/typebox";
import { AppError } from "../../base/errors.ts";
import { withoutSecrets } from "../../base/hide.ts";
import type { Reply } from "../../base/http-message.ts";
import { anything, described, map, nullable, object, optional } from "../../base/shape.ts";
import type { CatalogUse } from "../../catalog/contract.ts";
import { Unanswered } from "../../mcp/questions.ts";
import { type Done, defineExecutor, type RunContext, type Waiting } from "../contract.ts";
import { isFixedAddress } from "../page/address.ts";
import { approvalOf, callApi, callHash, checkInput, formOf } from "./api.ts";
import { BATCH_FIELDS, sendBatches } from "./batch.ts";
import { bodyConnections, bodyPartFaults, withFiles, withWrittenBody } from "./body.ts";
import {
  type ApiCall,
  bodyFault,
  Definition,
  definitionFaults,
  isSafeMethod,
  type Request,
} from "./definition.ts";
import {
  checkNew,
  firstPage,
  maxPagesOf,
  nextPage,
  type PageRequest,
  type Pagination,
  pathsOf,
} from "./pages.ts";
import { byOf, findNext, makeResult, tooLong } from "./result.ts";
import { savedReply } from "./save.ts";
import { openAccess, type Send, sender, startOf } from "./send.ts";

const DEFAULT_MAX_BYTES = 10 * 1024 * 1024;

/**
 * Sends one HTTP request, or one per page.
 *
 * A second attempt is safe for GET, HEAD and OPTIONS. Other methods carry an `Idempotency-Key` with the ID of the first
 * attempt's run (and the page number after the first), the same in every attempt and in a retry that sends the same,
 * unless the definition sets one. A receiver that honors it acts once.
 *
 * A tool of an MCP server has no such key. After an interruption during a call, the run fails, unless the tool is
 * described as read-only or idempotent.
 *
 * With `api`, it calls an endpoint or tool of the API catalog. If that needs approval, the run waits for it and then
 * sends exactly what was approved. If a tool asks for input, the run waits for a person's answer and calls the tool
 * again.
 *
 * An unexpected status code fails the run: permanently below 500. From 500 on it can be retried, no earlier than
 * `Retry-After` says.
 */
export const httpRequest = defineExecutor({
  kind: "http_request",
  title: "HTTP request",
  description: "Calls an HTTP API, with optional pagination, and stores the response.",
  providers: null,
  hasEffects: ({ method = "GET", url, body, api }) =>
    typeof method !== "string" ||
    !isSafeMethod(method) ||
    body !== undefined ||
    api !== undefined ||
    !isFixedAddress(url),
  definition: Definition,
  urlFields: ["url"],
  lateFields: ({ batch }) => (batch === undefined ? [] : BATCH_FIELDS),
  filledIn: (written, filled) => (filled.batch === undefined ? withWrittenBody(written, filled) : filled),
  connections: bodyConnections,
  inBulk: ({ api, saveAs, batch }) => api === undefined && saveAs === undefined && batch === undefined,
  oneOf: ["url", "api"],
  result: object({
    status: Type.Integer(),
    headers: map(Type.String()),
    /**
     * JSON, text, or base64 for anything else. With `pagination`, the pages' bodies: joined if all are lists, otherwise
     * a list of them.
     */
    body: anything(),
    extracted: nullable(anything()),
    pages: Type.Integer(),
    bytes: Type.Integer(),
    truncated: Type.Boolean(),
    artifactId: optional(described("ID of the file. Only with saveAs", Type.String())),
    outcomes: optional(
      described(
        "Outcome of each item. Only with batch. If there are more than 100,000 items, only failed ones",
        Type.Array(object({ index: Type.Integer(), status: nullable(Type.Integer()), ok: Type.Boolean() })),
      ),
    ),
  }),

  check: (definition) => [...definitionFaults(definition), ...bodyPartFaults(definition)],

  async execute(ctx, definition) {
    const { api, url, batch } = definition;
    if (api) return callCatalog(ctx, definition, api);
    if (url === undefined) throw new AppError("definition_invalid", "url: Field required, or api.");
    if (batch) return sendBatches(ctx, { ...definition, url, batch });
    return request(ctx, await withFiles(ctx, { ...definition, url }));
  },
});

/** A header can change the method of a GET. */
const mayChange = ({ method = "GET", body, headers = {} }: Request): boolean =>
  !isSafeMethod(method) ||
  body !== undefined ||
  Object.keys(headers).some((name) => /^x-(http-)?method(-override)?$/i.test(name));

/** Sends a request as `http_request` does, with the connection of `ctx`. */
export async function request(ctx: RunContext, definition: Request): Promise<Done> {
  const { pagination } = definition;
  const fault = bodyFault(definition);
  if (fault) throw new AppError("definition_invalid", fault);
  const access = await openAccess(ctx, mayChange(definition) ? "write" : "read");
  try {
    const start = startOf(definition, access);
    const send = sender(ctx, definition, access);
    const secrets = () => [...(access?.secrets() ?? [])];
    const replies = pagination
      ? await readPages(ctx, definition, pagination, { start, send, secrets })
      : [await readOne(ctx, definition, start, send)];
    const last = replies.at(-1) as Reply;
    if (definition.saveAs)
      return await savedReply(ctx, last, definition.saveAs.title, access?.secrets() ?? []);
    const work = {
      status: last.status,
      headers: last.headers,
      isPaged: pagination !== undefined,
      itemsPath: pagination?.itemsPath ?? null,
      responseExtract: definition.responseExtract ?? null,
      secrets: secrets(),
    };
    return await makeResult(byOf(ctx), work, replies);
  } catch (error) {
    throw withoutSecrets(error, access?.secrets() ?? []);
  }
}

/** If the call needs approval and has none yet, the run waits and is then executed again. */
async function callCatalog(ctx: RunContext, definition: Definition, api: ApiCall): Promise<Done | Waiting> {
  const input = api.arguments ?? {};
  const use = await ctx.catalog(api);
  const once = isRepeatable(use) ? undefined : ctx.once;
  once?.check();
  checkInput(use, input);
  const isHeld = use.approvalRequired || api.fingerprint !== undefined;
  if (api.fingerprint !== undefined && api.fingerprint !== use.fingerprint) throw changed();
  if (use.approvalRequired) {
    const approved = await ctx.approvedHash();
    if (approved === null) {
      ctx.log("info", "Waiting for approval.");
      return { wait: "approval", request: approvalOf(use, input) };
    }
    if (approved !== callHash(use, input)) throw changed();
    ctx.log("info", `Sends what was approved, hash ${approved}.`);
  }
  ctx.progress({ phase: "requesting", message: `${api.endpoint ?? api.tool} of ${use.apiName}` });
  const answers = use.target.kind === "tool" ? await ctx.answers() : undefined;
  try {
    return await callApi(ctx, use, input, { ...definition, isHeld, answers, once });
  } catch (error) {
    if (!(error instanceof Unanswered) || answers === undefined) throw error;
    if (answers.size >= MAX_QUESTIONS)
      throw new AppError("upstream", `The tool asked for input more than ${MAX_QUESTIONS} times.`);
    ctx.log("info", "The tool asks for input. Waiting for an answer.");
    return { wait: "approval", request: formOf(use, error.question) };
  }
}

/** An endpoint receives an `Idempotency-Key`; a tool says whether a second call changes anything. */
const isRepeatable = ({ target }: CatalogUse): boolean =>
  target.kind === "endpoint" ||
  target.tool.annotations?.readOnlyHint === true ||
  target.tool.annotations?.idempotentHint === true;

/** Maximum number of forms that one call may request. */
const MAX_QUESTIONS = 10;

const changed = () =>
  new AppError(
    "invalid_state",
    "The request changed after it was approved. Run it again to request a new approval.",
  );

async function readOne(ctx: RunContext, definition: Request, page: PageRequest, send: Send): Promise<Reply> {
  ctx.progress({ phase: "requesting", message: `${definition.method ?? "GET"} ${page.url.host}` });
  const maxBytes = definition.maxBytes ?? DEFAULT_MAX_BYTES;
  const reply = await send(page, 1, maxBytes);
  if (reply.truncated)
    ctx.log("warn", `The response is longer than maxBytes (${maxBytes}) and was truncated.`);
  return reply;
}

async function readPages(
  ctx: RunContext,
  definition: Request,
  pagination: Pagination,
  { start, send, secrets }: { start: PageRequest; send: Send; secrets(): readonly string[] },
): Promise<Reply[]> {
  const maxPages = maxPagesOf(pagination);
  let left = definition.maxBytes ?? DEFAULT_MAX_BYTES;
  const seen = new Set<string>();
  const replies: Reply[] = [];
  let page: PageRequest | null = firstPage(pagination, start);
  while (page) {
    checkNew(seen, page);
    ctx.progress({
      phase: "requesting",
      message: `Page ${replies.length + 1}`,
      current: replies.length,
      unit: "pages",
    });
    const reply: Reply = await send(page, replies.length + 1, left);
    const last = replies.at(-1);
    if (reply.truncated && last) {
      ctx.log("warn", `Stopped after ${replies.length} pages: the next one would exceed maxBytes.`);
      last.truncated = true;
      break;
    }
    if (reply.truncated) throw tooLong("The first page");
    replies.push(reply);
    left -= reply.bytes;
    const paths = pathsOf(pagination);
    const found = paths && (await findNext(byOf(ctx), { ...paths, secrets: secrets() }, reply));
    page = nextPage(pagination, page, reply, found);
    if (page && replies.length >= maxPages) {
      ctx.log("warn", `Stopped after ${maxPages} pages (maxPages), and there are more.`);
      reply.truncated = true;
      break;
    }
  }
  ctx.progress({
    phase: "requesting",
    message: `${replies.length} pages`,
    current: replies.length,
    unit: "pages",
  });
  return replies;
}

import { AppError } from "../../base/errors.ts";
import {
  bodyOf,
  charsetOf,
  headersOf,
  type Reply,
  readReply,
  unexpectedStatus,
  withCredentials,
  withQuery,
} from "../../base/http-message.ts";
import { multipartOf } from "../../base/http-multipart.ts";
import type { Authority } from "../../catalog/contract.ts";
import { draw, paceOf } from "../../providers/api/throttle.ts";
import type { Grant, HttpAccess, Link, Provider } from "../../providers/contract.ts";
import type { ConnectionUse, RunContext } from "../contract.ts";
import { isBodiless, type Request, urlFault } from "./definition.ts";
import type { PageRequest } from "./pages.ts";

/** Timeout of one request including its response. The run's own timeout applies too. */
const REQUEST_TIMEOUT_MS = 300_000;
/** Longest wait for a rate limit. Beyond it, the run is retried later. */
const PATIENCE_MS = 300_000;
/** Number of bytes to read of a response that fails the run. */
const MAX_ERROR_BYTES = 64 * 1024;

/** The connection of a request: its base URL and its credentials. */
export interface Access {
  baseUrl: string;
  authorize(options?: { isFresh?: boolean }): ReturnType<HttpAccess["authorize"]>;
  /** Secrets of the credentials granted so far, to be masked in messages. */
  secrets(): readonly string[];
}

/** Null without a connection. Throws `definition_invalid` for one that can't be used for HTTP requests. */
export async function openAccess(ctx: RunContext, purpose: ConnectionUse): Promise<Access | null> {
  return ctx.hasConnection ? accessOf(await ctx.connection(purpose)) : null;
}

/** Throws `definition_invalid` for a connection that doesn't support HTTP requests. */
export function accessOf({ provider, link }: { provider: Provider; link: Link }): Access {
  const { http } = provider;
  if (!http) {
    const message = `Provider ${provider.id} can't authorize HTTP requests. Remove the connection.`;
    throw new AppError("definition_invalid", message);
  }
  const secrets: string[] = [];
  const pace = paceOf(http);
  return {
    baseUrl: http.baseUrl(link),
    async authorize(options) {
      if (pace.length > 0) await draw(link, new URL(http.baseUrl(link)).host, pace, PATIENCE_MS);
      const grant = await http.authorize(link, options);
      secrets.push(...grant.secrets);
      return grant;
    },
    secrets: () => secrets,
  };
}

/** A connection for an MCP server. An expired token is renewed once. */
export function authorityOf(access: Access): Authority {
  let last: Grant | null = null;
  let isFresh = false;
  return {
    async authorize() {
      last = await access.authorize(isFresh ? { isFresh } : undefined);
      return last;
    },
    async refused({ status }) {
      const mayHaveEnded = status === 401 && last?.isRenewable === true && !isFresh;
      isFresh ||= mayHaveEnded;
      return mayHaveEnded;
    },
    secrets: access.secrets,
  };
}

/** The request for the first page. */
export function startOf({ url: text, query, body }: Request, access: Access | null): PageRequest {
  const fault = urlFault(text);
  if (fault) throw new AppError("definition_invalid", fault);
  const full = text.startsWith("/") && access ? access.baseUrl.replace(/\/+$/, "") + text : text;
  if (!URL.canParse(full)) {
    throw new AppError(
      "definition_invalid",
      "Without a connection, the URL must start with http:// or https://.",
    );
  }
  const url = withQuery(new URL(full), query ?? {});
  if (access && url.origin !== new URL(access.baseUrl).origin) {
    const message = `The connection's credentials are sent only to ${new URL(access.baseUrl).host}, not to ${url.host}.`;
    throw new AppError("definition_invalid", message);
  }
  return { url, body };
}

/** The parts of a run's context that sending needs. */
export type Outbox = Pick<
  RunContext,
  "egress" | "signal" | "clock" | "log" | "compute" | "room" | "workFolder" | "ids"
> & {
  /** `key` is part of the idempotency keys. Default: `id`. */
  run: { id: string; organizationId: string; key?: string };
};

/** Sends the request of one page; `page` counts from 1. */
export type Send = (request: PageRequest, page: number, maxBytes: number) => Promise<Reply>;

export function sender(ctx: Outbox, definition: Request, access: Access | null): Send {
  const { method = "GET", followRedirects = true, expectStatus } = definition;
  const { key = ctx.run.id } = ctx.run;
  const isExpected = (status: number) =>
    expectStatus ? expectStatus.includes(status) : status >= 200 && status < (followRedirects ? 300 : 400);

  const ask = (request: PageRequest, page: number, grant: Grant | undefined) => {
    const body = sentBody(definition, request);
    const headers = {
      ...(body ? { "content-type": body.contentType } : {}),
      ...(isSafe(method) ? {} : { "idempotency-key": page === 1 ? key : `${key}-${page}` }),
      "user-agent": "Weir",
      ...headersOf(definition.headers ?? {}),
      ...headersOf(grant?.headers ?? {}),
    };
    const url = withCredentials(request.url, grant ?? { query: {} });
    return ctx.egress.fetch(url.href, {
      method,
      headers,
      ...(body ? { body: body.content } : {}),
      signal: ctx.signal,
      timeoutMs: REQUEST_TIMEOUT_MS,
      credentialHeaders: Object.keys(grant?.headers ?? {}),
      ...(followRedirects ? {} : { maxRedirects: 0 }),
    });
  };

  return async (request, page, maxBytes) => {
    const grant = await access?.authorize();
    let response = await ask(request, page, grant);
    if (response.status === 401 && access && grant?.isRenewable && !isExpected(401)) {
      await response.body.cancel();
      response = await ask(request, page, await access.authorize({ isFresh: true })); // the stored token has expired
    }
    const good = isExpected(response.status);
    const reply = await readReply(response, good ? maxBytes : MAX_ERROR_BYTES, ctx);
    const message = `${method} ${request.url.host} answered ${reply.status} with ${reply.bytes} bytes.`;
    ctx.log(good ? "info" : "warn", message);
    if (response.lostBody)
      ctx.log(
        "warn",
        `A redirect turned the POST into a GET without its body. Use the final URL, or set followRedirects to false.`,
      );
    if (reply.isGarbled) {
      const charset = charsetOf(reply.headers["content-type"] ?? "");
      const fault = `The reply isn't valid ${charset}, and its Content-Type names no other charset.`;
      ctx.log("warn", `${fault} Invalid bytes are replaced in \`body\`; saveAs keeps them.`);
    }
    if (!good) throw unexpectedStatus(method, reply, ctx.clock.now());
    return reply;
  };
}

function sentBody({ bodyType, parts, file }: Request, request: PageRequest) {
  if (file !== undefined) return { content: file.bytes, contentType: file.mimeType };
  if (parts !== undefined) return multipartOf(parts);
  if (request.body === undefined) return null;
  const { text: content, contentType } = bodyOf(request.body, bodyType);
  return { content, contentType };
}

const isSafe = (method: string) => isBodiless(method) || method === "OPTIONS";

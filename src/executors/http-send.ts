import { AppError } from "../base/errors.ts";
import type { HttpAccess } from "../providers/contract.ts";
import type { Bench } from "./contract.ts";
import { type Definition, isBodiless, urlFault } from "./http-definition.ts";
import { bodyOf, headersOf, type Reply, readReply, unexpectedStatus, withQuery } from "./http-message.ts";
import type { Turn } from "./http-pages.ts";

/** For one request, its reply included; the run's own limit comes on top. */
const REQUEST_TIMEOUT_MS = 300_000;
/** Read of a reply that fails the run. */
const MAX_ERROR_BYTES = 64 * 1024;

/** The connection that a request is made with: where it leads, and what carries its credentials. */
interface Access {
  baseUrl: string;
  authorize(): ReturnType<HttpAccess["authorize"]>;
}

/** Null without a connection; throws `definition_invalid` for one that HTTP requests can't be made with. */
export async function openAccess(bench: Bench): Promise<Access | null> {
  if (!bench.hasConnection) return null;
  const { provider, link } = await bench.connection();
  const { http } = provider;
  if (!http) {
    const message = `Provider ${provider.id} can't authorise HTTP requests; leave the connection out.`;
    throw new AppError("definition_invalid", message);
  }
  return { baseUrl: http.baseUrl(link), authorize: () => http.authorize(link) };
}

/** The first request, before its pages are counted. */
export function startOf({ url: text, query, body }: Definition, access: Access | null): Turn {
  const fault = urlFault(text);
  if (fault) throw new AppError("definition_invalid", fault);
  const full = text.startsWith("/") && access ? access.baseUrl.replace(/\/+$/, "") + text : text;
  if (!URL.canParse(full)) {
    throw new AppError(
      "definition_invalid",
      "Without a connection the address starts with http:// or https://.",
    );
  }
  const url = withQuery(new URL(full), query ?? {});
  if (access && url.origin !== new URL(access.baseUrl).origin) {
    const message = `The connection's credentials only go to ${new URL(access.baseUrl).host}, not to ${url.host}.`;
    throw new AppError("definition_invalid", message);
  }
  return { url, body };
}

/** Sends the request of one page; `page` counts from 1. */
export type Send = (turn: Turn, page: number, maxBytes: number) => Promise<Reply>;

export function sender(bench: Bench, definition: Definition, access: Access | null): Send {
  const { method = "GET", followRedirects = true, expectStatus, bodyType } = definition;
  const isExpected = (status: number) =>
    expectStatus ? expectStatus.includes(status) : status >= 200 && status < (followRedirects ? 300 : 400);

  return async (turn, page, maxBytes) => {
    const body = turn.body === undefined ? null : bodyOf(turn.body, bodyType);
    const granted = await access?.authorize();
    const headers = {
      ...(body ? { "content-type": body.contentType } : {}),
      ...(isSafe(method) ? {} : { "idempotency-key": page === 1 ? bench.run.id : `${bench.run.id}-${page}` }),
      "user-agent": "Weir",
      ...headersOf(definition.headers ?? {}),
      ...headersOf(granted?.headers ?? {}),
    };
    const response = await bench.egress.fetch(withQuery(turn.url, granted?.query ?? {}).href, {
      method,
      headers,
      ...(body ? { body: body.text } : {}),
      signal: bench.signal,
      timeoutMs: REQUEST_TIMEOUT_MS,
      ...(followRedirects ? {} : { maxRedirects: 0 }),
    });
    const good = isExpected(response.status);
    const reply = await readReply(response, good ? maxBytes : MAX_ERROR_BYTES);
    const told = `${method} ${turn.url.host} answered ${reply.status} with ${reply.bytes} bytes.`;
    bench.log(good ? "info" : "warn", told);
    if (!good) throw unexpectedStatus(method, reply, bench.clock.now());
    return reply;
  };
}

const isSafe = (method: string) => isBodiless(method) || method === "OPTIONS";

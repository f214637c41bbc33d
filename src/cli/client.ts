import { openEgress } from "../base/egress.ts";
import { AppError } from "../base/errors.ts";
import { isObject, type Json, parseJson } from "../base/json.ts";

const MAX_REPLY_BYTES = 16 * 1024 * 1024;

export interface Answer {
  status: number;
  headers: Headers;
  /** Parsed where it is JSON, else its text; null for none. */
  body: Json;
}

interface Question {
  headers?: Record<string, string>;
  body?: string;
}

/**
 * Speaks to the Weir at `server` as anybody would: over HTTP, with a token where there is one. Paths are those of the
 * interface. Throws `upstream` and `timeout` where it can't be reached.
 */
export function openClient(
  server: string,
  { token, userAgent }: { token?: string; userAgent?: string } = {},
) {
  // The person named this address, so it may be reached wherever it is.
  const egress = openEgress({ allow: [new URL(server).host], self: () => null });

  /** One request as it is, without the token; a redirect is not followed. */
  async function ask(method: string, url: string, { headers, body }: Question = {}): Promise<Answer> {
    const reply = await egress.fetch(url, {
      method,
      maxRedirects: 0,
      headers: { ...(userAgent === undefined ? {} : { "user-agent": userAgent }), ...headers },
      ...(body === undefined ? {} : { body }),
    });
    const { bytes } = await reply.bytes(MAX_REPLY_BYTES);
    const text = new TextDecoder().decode(bytes);
    const isJson = reply.headers.get("content-type")?.includes("json") === true;
    return {
      status: reply.status,
      headers: reply.headers,
      body: text === "" ? null : isJson ? parseJson(text) : text,
    };
  }

  /** One request under the token; its body has `type`. */
  const send = (method: string, path: string, type: string, body?: string) =>
    ask(method, server + path, {
      headers: { ...(token === undefined ? {} : { authorization: `Bearer ${token}` }), "content-type": type },
      ...(body === undefined ? {} : { body }),
    });

  /** Throws `unauthenticated` for a token that is not taken, `unexpected_status` for every other failure. */
  async function call<T>(method: string, path: string, type: string, body?: string): Promise<T> {
    const answer = await send(method, path, type, body);
    if (answer.status < 300) return answer.body as T;
    if (answer.status === 401) throw new AppError("unauthenticated", reasonOf(answer));
    throw new AppError(
      "unexpected_status",
      `${method} ${path} was answered ${answer.status}: ${reasonOf(answer)}`,
    );
  }

  const json = <T>(method: string, path: string, body?: unknown) =>
    call<T>(method, path, "application/json", body === undefined ? undefined : JSON.stringify(body));

  return {
    ask,
    /** Whatever the answer is. */
    reply: (method: string, path: string) => send(method, path, "application/json"),
    get: <T>(path: string) => json<T>("GET", path),
    post: <T>(path: string, body?: unknown) => json<T>("POST", path, body),
    patch: <T>(path: string, body: unknown) => json<T>("PATCH", path, body),
    put: <T>(path: string, text: string) => call<T>("PUT", path, "application/octet-stream", text),
    /** A form of OAuth, whose errors are part of the conversation. */
    form: (path: string, fields: Record<string, string>) =>
      send("POST", path, "application/x-www-form-urlencoded", new URLSearchParams(fields).toString()),
  };
}

export type Client = ReturnType<typeof openClient>;

/** What an answer says went wrong, at most a few lines of it. */
export function reasonOf({ status, headers, body }: Answer): string {
  const place = status >= 300 && status < 400 ? headers.get("location") : null;
  if (place !== null) return `it leads to ${plain(place)}; give that address instead.`;
  const detail = isObject(body) ? (body.detail ?? body.error_description) : body;
  return plain(typeof detail === "string" ? detail : JSON.stringify(detail ?? null)).slice(0, 1000);
}

/** What a server sends goes to a terminal, which must not obey it. */
export const plain = (text: unknown) => String(text).replace(/(?!\n)[\p{Cc}\p{Cf}]/gu, "");

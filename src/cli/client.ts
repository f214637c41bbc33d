import { codeOf } from "../base/disk.ts";
import { type EgressResponse, openEgress } from "../base/egress.ts";
import { AppError } from "../base/errors.ts";
import { isObject, type Json, parseJson } from "../base/json.ts";
import { exactJson } from "../base/json-numbers.ts";

const MAX_REPLY_BYTES = 64 * 1024 * 1024;

export interface Answer {
  status: number;
  headers: Headers;
  /** Parsed if it is JSON, else its text. Null for none. */
  body: Json;
  /** The raw text. */
  text: string;
}

interface Question {
  headers?: Record<string, string>;
  body?: string | ReadableStream<Uint8Array>;
}

/** Options of a request in addition to its method and path. */
interface Saying extends Question {
  /** Milliseconds for the whole response. Default: 60,000. 0 means no limit. */
  timeoutMs?: number;
  signal?: AbortSignal;
}

interface Caller {
  token?: string;
  userAgent?: string;
  /** ID or slug of the organization. Default: the token's own. */
  organization?: string | undefined;
}

/**
 * A client of the server at `server`, over HTTP and with a token if there is one. Paths are those of the interface.
 * Throws `upstream` and `timeout` if the server can't be reached.
 */
export function openClient(server: string, { token, userAgent, organization }: Caller = {}) {
  // The user chose this URL, so it is allowed at any address.
  const egress = openEgress({ allow: [new URL(server).host], self: () => null });

  /** Sends a request without the token. Doesn't follow redirects. */
  const request = (method: string, url: string, { headers, ...rest }: Saying = {}) =>
    egress
      .fetch(url, {
        method,
        maxRedirects: 0,
        headers: { ...(userAgent === undefined ? {} : { "user-agent": userAgent }), ...headers },
        ...rest,
      })
      .catch((error: unknown) => {
        throw unreachable(error) ?? error;
      });

  const ask = async (method: string, url: string, question: Saying = {}): Promise<Answer> =>
    answerOf(await request(method, url, question));

  const credentials = {
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...(organization === undefined ? {} : { "x-organization-id": organization }),
  };

  /** Sends a request with the token. Its body has the content type `type`. */
  const send = (
    method: string,
    path: string,
    type: string,
    body?: string,
    { headers, ...more }: Saying = {},
  ) =>
    ask(method, server + path, {
      headers: { ...credentials, "content-type": type, ...headers },
      ...(body === undefined ? {} : { body }),
      ...more,
    });

  /** Throws `unauthenticated` if the token is rejected, `unexpected_status` for any other failure. */
  async function call<T>(method: string, path: string, type: string, body?: string, more?: Saying) {
    const answer = await send(method, path, type, body, more);
    if (answer.status >= 300) throw failureOf(answer, flagText);
    if (isPage(answer.body))
      throw new AppError("unexpected_status", "The server isn't Weir: it returned a page. Check the URL.");
    return { ...answer, body: answer.body as T };
  }

  /** Returns the whole response. Throws if it reports a failure. */
  const say = <T>(method: string, path: string, body?: unknown, more?: Saying) =>
    call<T>(method, path, "application/json", body === undefined ? undefined : exactJson(body), more);

  const json = async <T>(method: string, path: string, body?: unknown) =>
    (await say<T>(method, path, body)).body;

  return {
    ask,
    /** Returns the response whatever its status. */
    reply: (method: string, path: string) => send(method, path, "application/json"),
    say,
    /** Returns the response as a stream. Throws like `get`. Read its body, or cancel it. */
    async open(method: string, path: string, { headers, ...rest }: Saying = {}): Promise<EgressResponse> {
      const reply = await request(method, server + path, {
        headers: { ...credentials, ...headers },
        timeoutMs: 0,
        ...rest,
      });
      if (reply.status >= 300) throw failureOf(await answerOf(reply), flagText);
      return reply;
    },
    get: <T>(path: string) => json<T>("GET", path),
    post: <T>(path: string, body?: unknown) => json<T>("POST", path, body),
    patch: <T>(path: string, body: unknown) => json<T>("PATCH", path, body),
    put: async <T>(path: string, text: string) =>
      (await call<T>("PUT", path, "application/octet-stream", text)).body,
    /** Sends a form of OAuth, whose errors are part of the protocol. */
    form: (path: string, fields: Record<string, string>) =>
      send("POST", path, "application/x-www-form-urlencoded", new URLSearchParams(fields).toString()),
  };
}

export type Client = ReturnType<typeof openClient>;

async function answerOf(reply: EgressResponse): Promise<Answer> {
  const { bytes, truncated } = await reply.bytes(MAX_REPLY_BYTES);
  if (truncated)
    throw new AppError(
      "response_too_large",
      `The response is larger than ${MAX_REPLY_BYTES / 1024 ** 2} MiB.`,
    );
  const text = new TextDecoder().decode(bytes);
  const isJson = reply.headers.get("content-type")?.includes("json") === true;
  const body = text === "" ? null : isJson ? parseJson(text) : text;
  return { status: reply.status, headers: reply.headers, body, text };
}

/** Explains the failed connection to a server that isn't running. Null for any other error. */
function unreachable(error: unknown): AppError | null {
  if (!(error instanceof AppError && /ECONNREFUSED|ConnectionRefused/.test(codeOf(error.cause)))) return null;
  const advice = "Check that the server is running and that its URL is right.";
  return new AppError(error.code, `${error.message} ${advice}`, { retryable: true, cause: error });
}

/** A proxy returns these while the server restarts. */
const PASSING: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** Returns the error for a failed response. `retryable` if another attempt may help. */
export function failureOf(answer: Answer, textOf = faultText): AppError {
  const message = reasonOf(answer, textOf);
  if (answer.status === 401) return new AppError("unauthenticated", message);
  const { status } = answer;
  const details = { status, path: faultPath(answer.body), text: answer.text };
  return new AppError("unexpected_status", message, { retryable: PASSING.has(status), details });
}

/** Location of the first error in the body. Null for any other failure. */
function faultPath(body: Json): string[] | null {
  const [fault] = isObject(body) && Array.isArray(body.detail) ? body.detail : [];
  const loc = isObject(fault) && Array.isArray(fault.loc) ? fault.loc.map(String) : [];
  return loc[0] === "body" ? loc.slice(1) : null;
}

const MAX_CHARACTERS = 1000;

/** Returns the error message of a response, at most a few lines. */
export function reasonOf({ status, headers, body }: Answer, textOf = faultText): string {
  const target = status >= 300 && status < 400 ? headers.get("location") : null;
  if (target !== null) return `The server redirects to ${plain(target)}. Use that URL instead.`;
  const detail = isObject(body) ? (body.detail ?? body.error_description) : null;
  const reason = Array.isArray(detail) ? detail.map(textOf).join("; ") : detail;
  const text =
    typeof reason === "string"
      ? reason.replace(/\bGET (\/api\/\S+) lists/g, '"weir api GET $1" lists')
      : reason;
  if (typeof text !== "string") return statusText(status, body);
  const id = isObject(body) && status === 500 ? body.correlationId : null;
  return (
    plain(text).slice(0, MAX_CHARACTERS) + (typeof id === "string" ? ` Correlation ID: ${plain(id)}.` : "")
  );
}

/** HTML, which Weir's API never returns. */
const isPage = (body: Json): boolean => typeof body === "string" && /^\s*</.test(body);

/** For a response that isn't Weir's, such as a proxy's. */
function statusText(status: number, body: Json): string {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  if (body !== null && !isPage(body))
    return `The server returned HTTP status ${status}: ${plain(text).slice(0, MAX_CHARACTERS)}`;
  return PASSING.has(status)
    ? `The server is unavailable: a proxy in front of it returned ${status}. Try again later.`
    : `The server isn't Weir: it returned HTTP status ${status}. Check the URL.`;
}

/** The location in the request is omitted, since fields have the names of flags or of a definition. */
const PARTS: ReadonlySet<Json> = new Set(["body", "query", "path", "header"]);

function faultText(fault: Json): string {
  if (!isObject(fault) || !Array.isArray(fault.loc) || typeof fault.msg !== "string")
    return JSON.stringify(fault);
  const [part = null, ...rest] = fault.loc;
  const path = PARTS.has(part) ? rest : fault.loc;
  return path.length === 0 ? fault.msg : `${path.join(".")}: ${fault.msg}`;
}

/** Flags with another name than their query parameter. */
const FLAGS: Readonly<Record<string, string>> = {
  statuses: "status",
  kinds: "kind",
  trigger_method: "trigger",
};

/** The message in the user's terms: a query parameter as its flag, an ID as its noun. */
function flagText(fault: Json): string {
  if (!isObject(fault) || !Array.isArray(fault.loc)) return faultText(fault);
  const [part, name] = fault.loc.map(String);
  if (name === undefined || (part !== "query" && part !== "path")) return faultText(fault);
  const thing = name.replace(/_id$/, "").replaceAll("_", " ");
  if (part === "path" && /uuid/.test(String(fault.msg)))
    return `Invalid ${thing} ID. Use one such as 0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b`;
  if (part === "path") return faultText(fault);
  return `--${FLAGS[name] ?? thing.replaceAll(" ", "-")}: ${String(fault.msg).replaceAll("\t", "\\t")}`;
}

/** Removes control characters from what a server sends, before it is printed on a terminal. */
export const plain = (text: unknown) => String(text).replace(/(?!\n)[\p{Cc}\p{Cf}]/gu, "");

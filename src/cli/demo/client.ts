import { createHmac } from "node:crypto";
import { type Clock, timestamp } from "../../base/clock.ts";
import { openEgress } from "../../base/egress.ts";
import { AppError } from "../../base/errors.ts";
import { isObject, parseJson } from "../../base/json.ts";

const MAX_REPLY_BYTES = 16 * 1024 * 1024;

interface Answer {
  status: number;
  headers: Headers;
  body: unknown;
}

/** What an outside sender sends, and how it signs it. */
export interface Delivery {
  url: string;
  secret: string;
  body: string;
  /** Seconds since 1970, as the sender's clock has them. */
  sentAt: number;
}

/** Speaks to Weir as anybody would: over HTTP, with an access token. Paths are those of the interface. */
export function openClient(origin: string, token: string) {
  // This is Weir's own address, which its own way out refuses.
  const egress = openEgress({ allow: [new URL(origin).host], self: () => null });

  async function ask(
    method: string,
    url: string,
    headers: Record<string, string>,
    body?: string,
  ): Promise<Answer> {
    const reply = await egress.fetch(url, { method, headers, ...(body === undefined ? {} : { body }) });
    const { bytes } = await reply.bytes(MAX_REPLY_BYTES);
    const text = new TextDecoder().decode(bytes);
    return { status: reply.status, headers: reply.headers, body: text === "" ? null : parseJson(text) };
  }

  async function call<T>(method: string, path: string, type: string, body?: string): Promise<T> {
    const headers = { authorization: `Bearer ${token}`, "content-type": type };
    const answer = await ask(method, origin + path, headers, body);
    if (answer.status < 300) return answer.body as T;
    throw new AppError(
      "unexpected_status",
      `${method} ${path} was answered ${answer.status}: ${reasonOf(answer)}`,
    );
  }

  const json = <T>(method: string, path: string, body?: unknown) =>
    call<T>(method, path, "application/json", body === undefined ? undefined : JSON.stringify(body));

  return {
    get: <T>(path: string) => json<T>("GET", path),
    post: <T>(path: string, body?: unknown) => json<T>("POST", path, body),
    patch: <T>(path: string, body: unknown) => json<T>("PATCH", path, body),
    put: <T>(path: string, text: string) => call<T>("PUT", path, "application/octet-stream", text),
    /** Sends a webhook: without a token, signed over the time and the body. */
    async deliver({ url, secret, body, sentAt }: Delivery): Promise<Answer & { signature: string }> {
      const signature = `sha256=${createHmac("sha256", secret).update(`${sentAt}.${body}`).digest("hex")}`;
      const headers = {
        "content-type": "application/json",
        "x-svc-timestamp": String(sentAt),
        "x-svc-signature": signature,
      };
      return { ...(await ask("POST", url, headers, body)), signature };
    },
  };
}

export type Client = ReturnType<typeof openClient>;

const reasonOf = ({ body }: Answer): string => {
  const detail = isObject(body) ? body.detail : body;
  return typeof detail === "string" ? detail : JSON.stringify(detail);
};

/** Seconds since 1970. */
export const unixSeconds = (clock: Clock): number => Math.floor(Date.parse(timestamp(clock)) / 1000);

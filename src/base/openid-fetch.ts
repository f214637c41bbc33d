import type * as Client from "openid-client";
import type { Egress } from "./egress.ts";
import { AppError } from "./errors.ts";

export const LIBRARY_TIMEOUT_MS = 10_000;
const MAX_BYTES = 1024 * 1024;

/** Sends the library's requests through the egress policy. Provider endpoints don't redirect. */
export function libraryFetch(egress: Egress): Client.CustomFetch {
  return async (url, { method, headers, body, signal }) => {
    const reply = await egress.fetch(url, {
      method,
      headers,
      ...(body === undefined || body === null ? {} : { body: String(body) }),
      signal: signal ?? undefined,
      timeoutMs: LIBRARY_TIMEOUT_MS,
      maxRedirects: 0,
    });
    const { bytes, truncated } = await reply.bytes(MAX_BYTES);
    if (truncated)
      throw new AppError("upstream", `The identity provider's response is larger than ${MAX_BYTES} bytes.`);
    const { status, headers: replyHeaders } = reply;
    return new Response(bytes.length > 0 ? new Uint8Array(bytes) : null, { status, headers: replyHeaders });
  };
}

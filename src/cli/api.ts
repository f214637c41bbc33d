import { AppError } from "../base/errors.ts";
import { plain } from "./client.ts";
import { type Host, UsageError } from "./host.ts";
import { textInput } from "./input.ts";
import { printJson } from "./show.ts";
import { usage } from "./usage.ts";
import { apiOf, listed, singleCommand, verb } from "./verbs.ts";

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;

/** `weir api METHOD PATH`: sends a custom request with the stored token. */
export const api = singleCommand(
  usage.api,
  verb({
    words: "METHOD PATH",
    options: { data: { type: "string" } },
    async run({ flags, words, host }) {
      const method = (words[0] ?? "").toUpperCase();
      const path = words[1] ?? "";
      if (!METHODS.some((known) => known === method))
        throw new UsageError(`Invalid method: ${words[0]}. Use ${listed(METHODS)}.`);
      if (!path.startsWith("/")) throw new UsageError(`Invalid path: ${path}. It must start with a slash.`);
      if (method === "GET" && flags.data !== undefined)
        throw new UsageError("GET requests can't have --data.");
      const body = flags.data === undefined ? undefined : await textInput(host, "--data", flags.data);
      if (body !== undefined && !isJson(body)) throw new UsageError("--data requires JSON.");
      const reply = await apiOf({ flags, host })
        .open(method, path, {
          headers: { "content-type": "application/json" },
          ...(body === undefined ? {} : { body }),
        })
        .catch((error: unknown) => {
          if (!(error instanceof AppError)) throw error;
          const text = error.details?.text;
          if (flags.json && typeof text === "string" && text !== "")
            host.out(host.width === null ? text : plain(text));
          throw withRequest(error, method, path);
        });
      const type = reply.headers.get("content-type") ?? "";
      if (host.width !== null && type.includes("json")) {
        const text = await new Response(reply.body).text();
        if (text !== "") printJson(host, text);
        return;
      }
      await pass(host, reply.body, /json|text/.test(type));
    },
  }),
);

/** Adds the request and the status to the error, since the user wrote the request. */
function withRequest(error: AppError, method: string, path: string): AppError {
  const status = error.details?.status;
  if (status === undefined) return error;
  return new AppError(error.code, plain(`${method} ${path} returned ${status}: ${error.message}`), {
    cause: error,
  });
}

const LINE_BREAK = 0x0a;

/** Prints a body as it arrives, and ends text with a line break. On a terminal, removes control characters. */
async function pass(host: Host, body: ReadableStream<Uint8Array>, isText: boolean): Promise<void> {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  const shown = (bytes: Uint8Array) =>
    host.width === null ? bytes : encoder.encode(plain(decoder.decode(bytes, { stream: true })));
  let last = LINE_BREAK;
  for await (const bytes of body) {
    host.write(shown(bytes));
    if (!host.isRead()) return;
    last = bytes.at(-1) ?? last;
  }
  if (isText && last !== LINE_BREAK) host.write(Uint8Array.of(LINE_BREAK));
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

import { AppError, invalid } from "../base/errors.ts";
import { type Json, parseJson } from "../base/json.ts";

/** A body must be here within this time (decisions, section 1). */
const BODY_DEADLINE_MS = 30_000;

/** The raw bytes of a body, at most `maxBytes`; past that nothing more is read. */
export async function readBytes(request: Request, maxBytes: number): Promise<Uint8Array> {
  checkAnnounced(request, maxBytes);
  if (!request.body) return new Uint8Array();
  return gather(request.body, maxBytes);
}

/** Refuses what the headers tell beforehand. Throws `unsupported_media_type`, `payload_too_large`. */
export function checkAnnounced(request: Request, maxBytes: number): void {
  const encoding = request.headers.get("content-encoding");
  if (encoding !== null && encoding.toLowerCase() !== "identity") {
    throw new AppError("unsupported_media_type", `Bodies are taken as they are; this one is compressed (${encoding.slice(0, 50)}).`);
  }
  const announced = Number(request.headers.get("content-length") ?? 0);
  if (announced > maxBytes) throw tooLarge(maxBytes);
}

async function gather(body: ReadableStream<Uint8Array>, maxBytes: number): Promise<Uint8Array> {
  const reader = body.getReader();
  let deadline: Timer | undefined;
  const late = new Promise<never>((_, reject) => {
    deadline = setTimeout(
      () => reject(new AppError("request_timeout", "The body did not arrive within 30 seconds.")),
      BODY_DEADLINE_MS,
    );
  });
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for (;;) {
      const { done, value } = await Promise.race([reader.read(), late]);
      if (done) break;
      length += value.length;
      if (length > maxBytes) throw tooLarge(maxBytes);
      chunks.push(value);
    }
  } catch (error) {
    reader.cancel().catch(() => undefined); // the sender is told by the reply
    throw error;
  } finally {
    clearTimeout(deadline);
  }
  return chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks, length);
}

export const tooLarge = (maxBytes: number) =>
  new AppError("payload_too_large", `The body is larger than ${maxBytes} bytes, the limit here.`);

/** The JSON body; undefined for an empty one. Throws `unsupported_media_type`, `invalid`. */
export async function readJson(request: Request, maxBytes: number): Promise<Json | undefined> {
  const bytes = await readBytes(request, maxBytes);
  if (bytes.length === 0) return undefined;
  const type = request.headers.get("content-type");
  if (type !== null && !/^application\/([\w.+-]+\+)?json\b/i.test(type)) {
    throw new AppError("unsupported_media_type", `This takes application/json, not ${type.slice(0, 100)}.`);
  }
  return parseJson(decodeText(bytes));
}

/** Throws `invalid` for bytes that are not UTF-8. */
export function decodeText(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw Object.assign(invalid(["body"], "The body is not UTF-8 text", "json_invalid"), { cause });
  }
}

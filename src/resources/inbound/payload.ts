import { invalid } from "../../base/errors.ts";
import { type Json, type JsonObject, parseJsonInSlices } from "../../base/json.ts";

/** Content of a request. */
interface Content {
  headers: Headers;
  body: Uint8Array;
}

/**
 * Parses the body as JSON, form fields or text. Without a content type, it is JSON if it can be parsed as such. Throws
 * `invalid` if it doesn't match its content type.
 */
export function payloadOf(content: Content): Json | Promise<Json> {
  const { headers, body } = content;
  if (body.length === 0) return null;
  const type = headers.get("content-type")?.toLowerCase() ?? "";
  if (type.startsWith("multipart/form-data")) return partsOf(content);
  const text = new TextDecoder("utf-8").decode(body);
  if (/^application\/([\w.+-]+\+)?json\b/.test(type)) return parseJsonInSlices(text);
  if (type.startsWith("application/x-www-form-urlencoded")) {
    refuseFields(count(body, "&") + 1);
    return fieldsOf(new URLSearchParams(text));
  }
  return type === "" && /^\s*[[{]/.test(text) ? parseJsonInSlices(text) : text;
}

/** The fields of a form in parts; of a file its name, type, and bytes in base64. */
async function partsOf({ headers, body }: Content): Promise<JsonObject> {
  const type = headers.get("content-type") ?? "";
  refuseFields(count(body, "content-disposition:"));
  const form = await new Response(Buffer.from(body), { headers: { "content-type": type } })
    .formData()
    .catch((cause) => {
      throw Object.assign(invalid(["body"], "The parts of this form can't be read", "form_invalid"), {
        cause,
      });
    });
  const pairs = [...form].map(async ([name, value]): Promise<[string, Json]> => {
    if (typeof value === "string") return [name, value];
    const data = Buffer.from(await value.arrayBuffer()).toString("base64");
    return [name, { fileName: value.name, mimeType: value.type, data }];
  });
  return fieldsOf(await Promise.all(pairs));
}

/** A form is parsed without interruption, so its size is limited. */
const MAX_FIELDS = 10_000;

function refuseFields(fields: number): void {
  if (fields > MAX_FIELDS) {
    const most = MAX_FIELDS.toLocaleString("en-US");
    throw invalid(
      ["body"],
      `A form can have at most ${most} fields. Send fewer at a time.`,
      "form_too_large",
    );
  }
}

/** How often `mark` is in `bytes`, in letters of either case; no further than needed. */
function count(bytes: Uint8Array, mark: string): number {
  const text = Buffer.from(bytes).toString("latin1").toLowerCase();
  let found = 0;
  for (let at = text.indexOf(mark); at >= 0 && found <= MAX_FIELDS; at = text.indexOf(mark, at + 1)) found++;
  return found;
}

/** A field that occurs once has its value, a repeated one a list. */
export function fieldsOf(pairs: Iterable<[string, Json]>): JsonObject {
  const fields: JsonObject = Object.create(null);
  for (const [name, value] of pairs) {
    const before = fields[name];
    if (before === undefined) fields[name] = value;
    else if (Array.isArray(before)) before.push(value);
    else fields[name] = [before, value];
  }
  return { ...fields };
}

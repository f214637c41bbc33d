import { invalid } from "../../base/errors.ts";
import { type Json, type JsonObject, parseJsonInTurns } from "../../base/json.ts";

/** What came with a request. */
interface Content {
  headers: Headers;
  body: Uint8Array;
}

/**
 * The parsed JSON, the form's fields, or the text. What comes without a type is JSON where it can be read so. Throws
 * `invalid` for a body that is not what it says it is.
 */
export function payloadOf(content: Content): Json | Promise<Json> {
  const { headers, body } = content;
  if (body.length === 0) return null;
  const type = headers.get("content-type")?.toLowerCase() ?? "";
  if (type.startsWith("multipart/form-data")) return partsOf(content);
  const text = new TextDecoder("utf-8").decode(body);
  if (/^application\/([\w.+-]+\+)?json\b/.test(type)) return parseJsonInTurns(text);
  if (type.startsWith("application/x-www-form-urlencoded")) return fieldsOf(new URLSearchParams(text));
  return type === "" && /^\s*[[{]/.test(text) ? parseJsonInTurns(text) : text;
}

/** The fields of a form in parts; of a file its name, type, and bytes in base64. */
async function partsOf({ headers, body }: Content): Promise<JsonObject> {
  const type = headers.get("content-type") ?? "";
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

/** A name that stands once has its value, one that is repeated a list. */
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

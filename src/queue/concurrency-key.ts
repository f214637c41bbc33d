import { AppError } from "../base/errors.ts";
import type { Json } from "../base/json.ts";

export const MAX_KEY_LENGTH = 500;

/** Returns the value of a `concurrencyKey` as text. Throws `template_error` if it can't be a key. */
export function keyText(template: string, value: Json): string {
  const isText = ["string", "number", "boolean"].includes(typeof value);
  const text = isText ? String(value) : "";
  if (text !== "" && text.length <= MAX_KEY_LENGTH) return text;
  const message = `The concurrencyKey ${template} is ${isText ? shortcoming(text) : kindOf(value)}. Use a text of at most ${MAX_KEY_LENGTH} characters, a number or a boolean.`;
  throw new AppError("template_error", message, { details: { path: ["concurrencyKey"] } });
}

const shortcoming = (text: string) => (text === "" ? "empty" : `longer than ${MAX_KEY_LENGTH} characters`);

const kindOf = (value: Json) => (value === null ? "null" : Array.isArray(value) ? "a list" : "an object");

import { type Json, SHORT_CHARACTERS } from "./json.ts";
import { parseLong } from "./json-parse.ts";

/** JSON text of a value that is too long to parse in the main thread. It is passed on as text. */
export class LongJson {
  constructor(readonly text: string) {}

  /** For code that doesn't handle long values. */
  toJSON(): Json {
    return JSON.parse(this.text);
  }
}

/** Returns a stored value, or its text if it is long. */
export const readStored = (text: string): Json | LongJson =>
  text.length > SHORT_CHARACTERS ? new LongJson(text) : (JSON.parse(text) as Json);

const STORED = {
  maxDepth: Number.POSITIVE_INFINITY,
  maxValues: Number.POSITIVE_INFINITY,
  maxObjects: Number.POSITIVE_INFINITY,
  maxKeys: null,
};

/** Parses long JSON that was validated before, giving other requests their turns. */
export const wholeOf = (value: Json | LongJson): Json | Promise<Json> =>
  value instanceof LongJson ? parseLong(value.text, STORED) : value;

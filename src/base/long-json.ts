import { type Json, SHORT_CHARACTERS } from "./json.ts";
import { parseLong } from "./json-parse.ts";

/** The text of a JSON value that is too long to be parsed where others wait: it is passed on as it is. */
export class LongJson {
  constructor(readonly text: string) {}

  /** For what knows no long values. */
  toJSON(): Json {
    return JSON.parse(this.text);
  }
}

/** A stored value, or its text where it is long. */
export const readStored = (text: string): Json | LongJson =>
  text.length > SHORT_CHARACTERS ? new LongJson(text) : (JSON.parse(text) as Json);

const STORED = {
  maxDepth: Number.POSITIVE_INFINITY,
  maxValues: Number.POSITIVE_INFINITY,
  maxObjects: Number.POSITIVE_INFINITY,
  maxKeys: null,
};

/** The value of long JSON text, whose rules were checked before; others get their turns meanwhile. */
export const wholeOf = (value: Json | LongJson): Json | Promise<Json> =>
  value instanceof LongJson ? parseLong(value.text, STORED) : value;

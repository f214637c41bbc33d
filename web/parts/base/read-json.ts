import { parseLossless } from "../../../src/base/json-numbers.ts";
import { t } from "../../texts/text.ts";

/** Browsers with this also provide the source text of numbers. */
const KEEPS_DIGITS = "rawJSON" in JSON;
const LONG_NUMBER = /\d[\d.]{15}/;
const TEXTS = /"(?:[^"\\]|\\.)*"/g;

/** Parses JSON as the server does: a number beyond doubles becomes text. Throws if it is invalid. */
export function readJson(text: string): unknown {
  const value: unknown = parseLossless(text);
  if (!KEEPS_DIGITS && LONG_NUMBER.test(text.replace(TEXTS, '""')))
    throw new Error(t("This browser rounds numbers this long. Put them in quotes."));
  return value;
}

import { parseLossless } from "../../../src/base/json-numbers.ts";
import { t } from "../../texts/text.ts";

/** Browsers that have this also tell the digits that a number was written with. */
const KEEPS_DIGITS = "rawJSON" in JSON;
const LONG_NUMBER = /\d[\d.]{15}/;
const TEXTS = /"(?:[^"\\]|\\.)*"/g;

/**
 * The value of JSON that somebody wrote, as the server reads it: a number that no double holds is the text of its digits.
 * Throws where it can't be read.
 */
export function readJson(text: string): unknown {
  const value: unknown = parseLossless(text);
  if (!KEEPS_DIGITS && LONG_NUMBER.test(text.replace(TEXTS, '""')))
    throw new Error(t("This browser rounds numbers this long. Put them in quotes."));
  return value;
}

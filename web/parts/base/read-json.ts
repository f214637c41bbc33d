import { parseNumberTexts } from "../../../src/base/json-numbers.ts";
import { withStoredNumbers } from "../../../src/base/parameter-numbers.ts";
import { t } from "../../texts/text.ts";

/** Browsers with this also provide the source text of numbers. */
const KEEPS_DIGITS = "rawJSON" in JSON;
const LONG_NUMBER = /\d[\d.]{15}/;
const TEXTS = /"(?:[^"\\]|\\.)*"/g;

/**
 * Parses JSON as the server does for the field `at` of a body: a number beyond doubles becomes text, or `{"$number": …}`
 * among a definition's parameters. Throws if it is invalid.
 */
export function readJson(text: string, at: readonly string[] = []): unknown {
  const value: unknown = withStoredNumbers(parseNumberTexts(text), at);
  if (!KEEPS_DIGITS && LONG_NUMBER.test(text.replace(TEXTS, '""')))
    throw new Error(t("This browser rounds numbers this long. Put them in quotes."));
  return value;
}

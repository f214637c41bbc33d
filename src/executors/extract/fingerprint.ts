import { quoteText } from "../../sql/text.ts";

/** A column name and its value as text. NULL without a value, so that columns added later don't change fingerprints. */
export const fingerprintPair = (name: string, value: string): string => {
  const text = `CAST(${value} AS VARCHAR)`;
  return `CASE WHEN ${value} IS NOT NULL THEN ${quoteText(`${name}=`)} || length(${text}) || ':' || ${text} END`;
};

/** One text for all pairs of a row, regardless of the order of its columns. */
export const fingerprintOf = (pairs: readonly string[]): string =>
  `md5(concat_ws(chr(31), ${["''", ...pairs.toSorted()].join(", ")}))`;

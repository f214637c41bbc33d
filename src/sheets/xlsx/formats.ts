/**
 * How a number format shows a number: as a number, as a day with or without a time, or as a time of day. Elapsed time
 * (`[h]:mm`) is a number of days: no day and no time of day could hold 36 hours.
 */
export type FormatKind = "number" | "day" | "clock";

/** Formats without a code in the file, by ECMA-376 part 1, 18.8.30; some depend on the language of Excel. */
const DAYS = [14, 15, 16, 17, 22, 27, 28, 29, 30, 31, 36, 50, 51, 52, 53, 54, 57, 58];
const CLOCKS = [18, 19, 20, 21, 32, 33, 34, 35, 45, 47, 55, 56];
const BUILT_IN = new Map<number, FormatKind>([
  ...DAYS.map((id) => [id, "day"] as const),
  ...CLOCKS.map((id) => [id, "clock"] as const),
]);

/** Texts in quotes, escaped, filling or as wide as a character, and brackets: colors, conditions, languages. */
const LITERALS = /"[^"]*"?|\\.|[_*].|\[[^\]]*\]/gs;
const ELAPSED = /\[(?:h+|m+|s+)\]/i;

/** Returns the kind of a format by its id, or by the code that the file gives it. */
export function formatKindOf(id: number, code: string | undefined): FormatKind {
  if (code === undefined) return BUILT_IN.get(id) ?? "number";
  if (ELAPSED.test(code.replaceAll(/"[^"]*"?|\\./gs, ""))) return "number";
  const letters = code.replaceAll(LITERALS, "").toLowerCase();
  if (!/[ymdhs]/.test(letters)) return "number";
  if (/[yd]|mmm/.test(letters)) return "day";
  return /[hs]/.test(letters) ? "clock" : "day";
}

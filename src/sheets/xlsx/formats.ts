/**
 * How a number format displays a number: as a number, as a date with or without a time, or as a time of day. Elapsed
 * time (`[h]:mm`) is a number of days, because neither a date nor a time of day can represent 36 hours.
 */
export type FormatKind = "number" | "day" | "clock";

/** Built-in formats without a code in the file, by ECMA-376 part 1, 18.8.30; some depend on Excel's language. */
const DAYS = [14, 15, 16, 17, 22, 27, 28, 29, 30, 31, 36, 50, 51, 52, 53, 54, 57, 58];
const CLOCKS = [18, 19, 20, 21, 32, 33, 34, 35, 45, 47, 55, 56];
const BUILT_IN = new Map<number, FormatKind>([
  ...DAYS.map((id) => [id, "day"] as const),
  ...CLOCKS.map((id) => [id, "clock"] as const),
]);

/** Quoted, escaped, fill and padding characters, and brackets: colors, conditions, languages. */
const LITERALS = /"[^"]*"?|\\.|[_*].|\[[^\]]*\]/gs;
const ELAPSED = /\[(?:h+|m+|s+)\]/i;

/** Returns the kind of a format by its ID, or by its code if the file has one. */
export function formatKindOf(id: number, code: string | undefined): FormatKind {
  if (code === undefined) return BUILT_IN.get(id) ?? "number";
  if (ELAPSED.test(code.replaceAll(/"[^"]*"?|\\./gs, ""))) return "number";
  const letters = code.replaceAll(LITERALS, "").toLowerCase();
  if (!/[ymdhs]/.test(letters)) return "number";
  if (/[yd]|mmm/.test(letters)) return "day";
  return /[hs]/.test(letters) ? "clock" : "day";
}

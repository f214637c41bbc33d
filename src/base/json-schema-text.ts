import { isIPv4, isIPv6 } from "node:net";
import { isRealDay } from "./real-day.ts";

/** A pattern that matches in linear time. */
export interface Pattern {
  test(text: string): boolean;
  /** Approximate cost per character of text. */
  readonly size: number;
}

const MAX_PATTERN_CHARACTERS = 1_000;
/** Maximum number of instructions. `(a{1,1000}){1,1000}` is short but would have a million. */
const MAX_PATTERN_SIZE = 5_000;
const MAX_KEPT = 500;

type Re2 = typeof import("re2js");

const kept = new Map<string, Pattern>();

/** Compiles `source`, or returns why it is invalid. The library takes 14 ms to load, so it is loaded on first use. */
export function patternOf(source: string): Pattern | string {
  const known = kept.get(source);
  if (known) return known;
  if (source.length > MAX_PATTERN_CHARACTERS)
    return `A pattern can have at most ${MAX_PATTERN_CHARACTERS} characters.`;
  const { RE2JS } = require("re2js") as Re2;
  let compiled: InstanceType<Re2["RE2JS"]>;
  try {
    compiled = RE2JS.compile(RE2JS.translateRegExp(source));
  } catch (error) {
    const reason =
      error instanceof Error ? error.message.replace(/^error parsing regexp: /, "") : "unreadable";
    return `The pattern can't be used (${reason}). Look-around and back-references are not supported.`;
  }
  const size = compiled.programSize();
  if (size > MAX_PATTERN_SIZE) return "The pattern is too large: its nested repetitions multiply.";
  const pattern = { size, test: (text: string) => compiled.test(text) };
  if (kept.size >= MAX_KEPT) kept.clear();
  kept.set(source, pattern);
  return pattern;
}

/** Matches a built-in or validated pattern. */
function matches(source: string, text: string): boolean {
  const pattern = patternOf(source);
  return typeof pattern !== "string" && pattern.test(text);
}

const LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?";
const DAY = "[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])";
const TIME =
  "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]{1,9})?(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])";

const whole = (source: string) => (text: string) => matches(`^(?:${source})$`, text);
const isHostname = (text: string) => text.length <= 253 && whole(`${LABEL}(?:\\.${LABEL})*`)(text);

const FORMATS = new Map<string, (text: string) => boolean>([
  ["date", (text) => whole(DAY)(text) && isRealDay(text)],
  ["time", whole(TIME)],
  ["date-time", (text) => whole(`${DAY}[Tt]${TIME}`)(text) && isRealDay(text.slice(0, 10))],
  [
    "duration",
    whole("P(?:[0-9]+W|(?:[0-9]+Y)?(?:[0-9]+M)?(?:[0-9]+D)?(?:T(?:[0-9]+H)?(?:[0-9]+M)?(?:[0-9]+S)?)?)"),
  ],
  [
    "email",
    (text) => {
      const at = text.lastIndexOf("@");
      return whole('[^\\s@<>()\\[\\],;:\\\\"]{1,64}')(text.slice(0, at)) && isHostname(text.slice(at + 1));
    },
  ],
  ["hostname", isHostname],
  ["ipv4", isIPv4],
  ["ipv6", isIPv6],
  ["uri", (text) => whole("[A-Za-z][A-Za-z0-9+.-]*:\\S+")(text) && URL.canParse(text)],
  ["uuid", whole("[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")],
  ["regex", (text) => typeof patternOf(text) !== "string"],
]);

/** True for unknown formats, which are annotations by the standard. */
export const fitsFormat = (format: string, text: string): boolean => FORMATS.get(format)?.(text) ?? true;

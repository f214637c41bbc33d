import { ExpressionError } from "../fault.ts";
import { isList } from "../value.ts";
import { type Definitions, fail, listOf, refuse, textOf, wholeOf } from "./contract.ts";
import { formatted } from "./format.ts";

/** Positions count characters, not UTF-16 code units. */
const characters = (text: string): string[] => [...text];

function placeIn(length: number, value: Parameters<typeof wholeOf>[0]): number {
  const place = wholeOf(value);
  return place >= 0 && place <= length
    ? place
    : fail(`index ${place} is outside the text, which has ${length} characters`);
}

/** Returns the position of `part` in `text`, or -1. */
function placeOf(text: string, part: string, from: Parameters<typeof wholeOf>[0], isLast: boolean): bigint {
  const all = characters(text);
  const start = from === undefined ? (isLast ? all.length : 0) : placeIn(all.length, from);
  const unit = all.slice(0, start).join("").length;
  const found = isLast ? text.lastIndexOf(part, unit) : text.indexOf(part, unit);
  return found < 0 ? -1n : BigInt(characters(text.slice(0, found)).length);
}

/** Characters with an escape sequence, and its letter. */
const ESCAPES = new Map(
  [...'\x07a\bb\ff\nn\rr\tt\vv\\\\""'.matchAll(/(.)(.)/gsu)].map(([, from = "", to]) => [from, `\\${to}`]),
);

export const textFunctions: Definitions = {
  contains: {
    takes: "text, part",
    about: "Whether the text contains the part.",
    examples: [['"invoice-17".contains("voice")', "true"]],
    call: ([text, part]) => textOf(text).includes(textOf(part)),
  },
  startsWith: {
    takes: "text, part",
    about: "Whether the text starts with the part.",
    examples: [['"invoice-17".startsWith("invoice")', "true"]],
    call: ([text, part]) => textOf(text).startsWith(textOf(part)),
  },
  endsWith: {
    takes: "text, part",
    about: "Whether the text ends with the part.",
    examples: [['"report.csv".endsWith(".csv")', "true"]],
    call: ([text, part]) => textOf(text).endsWith(textOf(part)),
  },
  charAt: {
    takes: "text, place",
    about: "Character at an index, counted from 0; empty directly after the last one.",
    examples: [['"abc".charAt(1)', '"b"']],
    call([text, place]) {
      const all = characters(textOf(text));
      return all[placeIn(all.length, place)] ?? "";
    },
  },
  indexOf: {
    takes: "text, part, from?",
    about: "Index of the first occurrence, counted from 0; -1 if not found.",
    examples: [['"a,b,c".indexOf(",")', "1"]],
    call: ([text, part, from]) => placeOf(textOf(text), textOf(part), from, false),
  },
  lastIndexOf: {
    takes: "text, part, from?",
    about: "Index of the last occurrence; -1 if not found.",
    examples: [['"a,b,c".lastIndexOf(",")', "3"]],
    call: ([text, part, from]) => placeOf(textOf(text), textOf(part), from, true),
  },
  lowerAscii: {
    takes: "text",
    about: "Converts A to Z to lower case.",
    examples: [['"TacoCat".lowerAscii()', '"tacocat"']],
    call: ([text]) => textOf(text).replace(/[A-Z]+/g, (part) => part.toLowerCase()),
  },
  upperAscii: {
    takes: "text",
    about: "Converts a to z to upper case.",
    examples: [['"TacoCat".upperAscii()', '"TACOCAT"']],
    call: ([text]) => textOf(text).replace(/[a-z]+/g, (part) => part.toUpperCase()),
  },
  trim: {
    takes: "text",
    about: "Removes whitespace at both ends.",
    examples: [['"  a b ".trim()', '"a b"']],
    call: ([text]) => textOf(text).replace(/^[\p{White_Space}]+|[\p{White_Space}]+$/gu, ""),
  },
  replace: {
    takes: "text, part, with, count?",
    about: "Replaces all occurrences, or only the first ones.",
    examples: [
      ['"a-b-c".replace("-", "+")', '"a+b+c"'],
      ['"a-b-c".replace("-", "+", 1)', '"a+b-c"'],
    ],
    call([whole, part, by, count], { budget }) {
      const text = textOf(whole);
      const from = textOf(part);
      const to = textOf(by);
      const most = count === undefined ? -1 : wholeOf(count);
      const pieces = from === "" ? ["", ...characters(text), ""] : text.split(from);
      const replaced = most < 0 ? pieces.length - 1 : Math.min(most, pieces.length - 1);
      budget.make(text.length + replaced * to.length);
      return (
        pieces
          .slice(0, replaced)
          .map((piece) => piece + to)
          .join("") + pieces.slice(replaced).join(from)
      );
    },
  },
  split: {
    takes: "text, separator, count?",
    about: "Splits at a separator. With a count, the last part has the rest.",
    examples: [
      ['"a,b,c".split(",")', '["a","b","c"]'],
      ['"a,b,c".split(",", 2)', '["a","b,c"]'],
    ],
    call([whole, separator, count], { budget }) {
      const text = textOf(whole);
      const by = textOf(separator);
      const most = count === undefined ? -1 : wholeOf(count);
      budget.make(2 * text.length);
      if (most === 0) return [];
      const parts = by === "" ? characters(text) : text.split(by);
      if (most < 0 || parts.length <= most) return parts;
      return [...parts.slice(0, most - 1), parts.slice(most - 1).join(by)];
    },
  },
  substring: {
    takes: "text, from, to?",
    about: "Characters from one index up to, but not including, another, counted from 0.",
    examples: [
      ['"tacocat".substring(4)', '"cat"'],
      ['"tacocat".substring(0, 4)', '"taco"'],
    ],
    call([text, from, to]) {
      const all = characters(textOf(text));
      const start = placeIn(all.length, from);
      const end = to === undefined ? all.length : placeIn(all.length, to);
      return start <= end ? all.slice(start, end).join("") : fail(`${start} is after ${end}`);
    },
  },
  join: {
    takes: "texts, separator?",
    about: "Joins a list of texts.",
    examples: [['["a", "b"].join("-")', '"a-b"']],
    call([list, separator], { budget }) {
      const texts = listOf(list).map((item) => textOf(item));
      const by = separator === undefined ? "" : textOf(separator);
      budget.make(texts.reduce((length, text) => length + text.length + by.length, 0));
      return texts.join(by);
    },
  },
  reverse: {
    takes: "list or text",
    about: "Reverses a list or a text.",
    examples: [
      ['"gums".reverse()', '"smug"'],
      ["[1, 2, 3].reverse()", "[3,2,1]"],
    ],
    call([value = null], { budget }) {
      if (typeof value === "string") return characters(value).reverse().join("");
      if (!isList(value)) return refuse("a list or a text", value);
      budget.make(8 * value.length);
      return [...value].reverse();
    },
  },
  format: {
    takes: "text, values",
    about:
      "Replaces %s (any value), %d (whole number), %f and %.2f (decimals), %e, %b, %o, %x and %X with the next value; %% is a percent sign.",
    examples: [['"%s owes %.2f".format(["Ada", 3.456])', '"Ada owes 3.46"']],
    call: ([text, values], { budget }) => formatted(textOf(text), listOf(values), budget),
  },
  "strings.quote": {
    takes: "text",
    about: "Quotes and escapes text as an expression literal.",
    examples: [['strings.quote("a\\nb")', '"\\"a\\\\nb\\""']],
    call([value], { budget }) {
      const text = textOf(value);
      budget.make(text.length * 2);
      if (!text.isWellFormed()) throw new ExpressionError("value", "the text contains a lone surrogate");
      return `"${Array.from(text, (character) => ESCAPES.get(character) ?? character).join("")}"`;
    },
  },
};

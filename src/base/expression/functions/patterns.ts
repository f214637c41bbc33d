import type { RE2JS } from "re2js";
import type { Budget } from "../budget.ts";
import { type Definitions, fail, textOf, wholeOf } from "./contract.ts";

type Re2 = typeof import("re2js");

const MAX_PATTERNS = 256;
const kept = new Map<string, RE2JS>();

/** Parses an RE2 pattern, which matches in linear time. Parsing costs as much as scanning 20 values per character. */
function patternOf(text: string, budget: Budget): RE2JS {
  const known = kept.get(text);
  if (known) return known;
  budget.step(500 + 20 * text.length);
  const { RE2JS: library } = require("re2js") as Re2; // loaded for the first pattern
  let pattern: RE2JS;
  try {
    pattern = library.compile(text);
  } catch (error) {
    return fail(
      `${JSON.stringify(text.slice(0, 60))} is not a valid RE2 pattern: ${(error as Error).message}`,
    );
  }
  if (kept.size >= MAX_PATTERNS) kept.clear();
  kept.set(text, pattern);
  return pattern;
}

/** Parses a pattern, and spends the cost of matching a text. */
function matcherOf([text, pattern]: readonly Parameters<typeof textOf>[0][], budget: Budget) {
  const within = textOf(text);
  const read = patternOf(textOf(pattern), budget);
  budget.step(within.length);
  return read.matcher(within);
}

/** Returns a matcher and the requested group: the first by default, or the whole match if there is none. */
function groupOf(values: Parameters<typeof matcherOf>[0], budget: Budget) {
  const matcher = matcherOf(values, budget);
  const groups = matcher.groupCount();
  const group = values[2] === undefined ? Math.min(groups, 1) : wholeOf(values[2]);
  if (group < 0 || group > groups) fail(`the pattern has ${groups} groups, so there is no group ${group}`);
  return { matcher, group };
}

export const patternFunctions: Definitions = {
  matches: {
    takes: "text, pattern",
    about: "Whether part of the text matches the pattern (RE2 syntax).",
    examples: [['"order-17".matches("^order-[0-9]+$")', "true"]],
    call: (values, { budget }) => matcherOf(values, budget).find(),
  },
  "regex.extract": {
    takes: "text, pattern, group?",
    about:
      "First match: its first group if there is one, or the given group (0 is the whole match); null if nothing matches.",
    examples: [
      ['regex.extract("order-17", "order-([0-9]+)")', '"17"'],
      ['regex.extract("none", "[0-9]+")', "null"],
    ],
    call(values, { budget }) {
      const { matcher, group } = groupOf(values, budget);
      return matcher.find() ? matcher.group(group) : null;
    },
  },
  "regex.extractAll": {
    takes: "text, pattern, group?",
    about: "All matches, each as with `regex.extract`.",
    examples: [['regex.extractAll("a1 b22", "[0-9]+")', '["1","22"]']],
    call(values, { budget }) {
      const { matcher, group } = groupOf(values, budget);
      const found: (string | null)[] = [];
      while (matcher.find()) {
        const part = matcher.group(group);
        budget.step();
        budget.make(8 + (part?.length ?? 0));
        found.push(part);
      }
      return found;
    },
  },
  "regex.replace": {
    takes: "text, pattern, with",
    about: `Replaces all matches; \`$1\` and \`\${name}\` insert groups, and \`$$\` or \`\\$\` is a dollar sign.`,
    examples: [['regex.replace("2026-01-31", "(\\\\d+)-(\\\\d+)-(\\\\d+)", "$3.$2.$1")', '"31.01.2026"']],
    call(values, { budget }) {
      const text = textOf(values[0]);
      const matcher = matcherOf(values, budget);
      const parts = partsOf(textOf(values[2]), patternOf(textOf(values[1]), budget));
      let made = "";
      let end = 0;
      const add = (piece: string) => {
        budget.make(piece.length);
        made += piece;
      };
      while (matcher.find()) {
        budget.step();
        add(text.slice(end, matcher.start()));
        for (const part of parts) add(typeof part === "string" ? part : (matcher.group(part) ?? ""));
        end = matcher.end();
      }
      add(text.slice(end));
      return made;
    },
  },
};

/** A dollar sign is also written `\\$`. */
const REFERENCE = /\\\$|\$(?:\$|(\d{1,4})|\{(\w{1,100})\})/;

/** Returns the texts and the numbers of the groups that a replacement consists of. */
function partsOf(replacement: string, pattern: RE2JS): (string | number)[] {
  const parts: (string | number)[] = [];
  let rest = replacement;
  for (let found = REFERENCE.exec(rest); found !== null; found = REFERENCE.exec(rest)) {
    const [reference, digits, name] = found;
    parts.push(rest.slice(0, found.index));
    let { length } = reference;
    if (name !== undefined) parts.push(groupNamed(name, pattern));
    else if (digits === undefined) parts.push("$");
    else {
      const group = groupIn(digits, pattern);
      parts.push(Number(group));
      length = 1 + group.length;
    }
    rest = rest.slice(found.index + length);
  }
  return [...parts, rest];
}

/** Of `10`, only the 1 names a group if there are fewer than ten. */
function groupIn(digits: string, pattern: RE2JS): string {
  const groups = pattern.groupCount();
  for (let length = digits.length; length > 0; length--)
    if (Number(digits.slice(0, length)) <= groups) return digits.slice(0, length);
  return noGroup(`$${digits}`, groups);
}

function groupNamed(name: string, pattern: RE2JS): number {
  const named = pattern.namedGroups();
  const group = Object.hasOwn(named, name) ? named[name] : /^\d+$/.test(name) ? Number(name) : undefined;
  const groups = pattern.groupCount();
  return group !== undefined && group <= groups ? group : noGroup(`\${${name}}`, groups);
}

const noGroup = (reference: string, groups: number) =>
  fail(`the pattern has ${groups} groups, so there is no ${reference}. Write $$ for a dollar sign`);

import { AppError } from "../../base/errors.ts";

/** Maximum number of patterns that braces can expand to. */
const MAX_ALTERNATIVES = 100;

export interface Glob {
  /** Prefix of everything that matches. The whole pattern if it has no wildcard. */
  prefix: string;
  /** False if the pattern can only match `prefix` itself. */
  wild: boolean;
  matches(path: string): boolean;
  /** Returns whether a path below this folder can match. */
  mayMatchBelow(folder: string): boolean;
}

/**
 * `*` and `?` within a name, `**` across folders, `[a-z]` and `[!a-z]`, `{csv,json}`; a backslash escapes the next
 * character. A pattern that ends in `/` matches everything below that folder.
 *
 * Matching time is at most proportional to pattern times path. Throws `definition_invalid`.
 */
export function compileGlob(pattern: string): Glob {
  const full = `${pattern.replace(/^\/+/, "")}${pattern.endsWith("/") ? "**" : ""}`;
  if (full === "" || full.length > 1_024) {
    throw new AppError("definition_invalid", "A file pattern has 1 to 1,024 characters.");
  }
  const alternatives = expandBraces(full).map((each) => each.split("/").map(compileSegment));
  const plain = /^(?:\\.|[^\\*?[{])*/s.exec(full)?.[0] ?? "";
  return {
    prefix: plain.replace(/\\(.)/gs, "$1"),
    wild: plain.length < full.length,
    matches(path) {
      const names = path.split("/");
      return alternatives.some((segments) => matchSegments(segments, names));
    },
    mayMatchBelow(folder) {
      const names = folder.split("/");
      return alternatives.some((segments) =>
        segments.some((segment, at) =>
          matchSegments(segments.slice(0, segment === "**" ? at + 1 : at), names),
        ),
      );
    },
  };
}

function expandBraces(pattern: string): string[] {
  const done: string[] = [];
  const todo = [pattern];
  for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
    // Innermost braces first.
    const match = /^((?:\\.|[^\\])*?)\{((?:\\.|[^\\{}])*)\}(.*)$/s.exec(next);
    if (!match) {
      done.push(next);
    } else {
      const [, before = "", inside = "", after = ""] = match;
      for (const choice of inside.split(/(?<!\\),/)) todo.push(`${before}${choice}${after}`);
    }
    if (done.length + todo.length > MAX_ALTERNATIVES) {
      throw new AppError(
        "definition_invalid",
        `The braces of a file pattern can expand to at most ${MAX_ALTERNATIVES} patterns.`,
      );
    }
  }
  return done.reverse();
}

/** One character of a name. `null` matches any number of characters. */
type Token = ((character: string) => boolean) | null;
type Segment = readonly Token[] | "**";

function compileSegment(segment: string): Segment {
  if (segment === "**") return "**";
  const tokens: Token[] = [];
  const part = /\\(.)|\[(!|\^)?(\]?[^\]]*)\]|(\*+)|(\?)|(.)/gsu;
  for (const [, escaped, negated, set, star, any, plain] of segment.matchAll(part)) {
    const literal = escaped ?? plain;
    if (star) tokens.push(null);
    else if (any) tokens.push(() => true);
    else if (set !== undefined) tokens.push(compileSet(set, negated !== undefined));
    else tokens.push((character) => character === literal);
  }
  return tokens;
}

function compileSet(set: string, negated: boolean): (character: string) => boolean {
  const ranges = [...set.matchAll(/(.)-(.)|(.)/gsu)].map(([, low, high, one]) => [
    low ?? one ?? "",
    high ?? one ?? "",
  ]);
  return (character) =>
    ranges.some(([low = "", high = ""]) => character >= low && character <= high) !== negated;
}

/** Which prefixes of `names` the segments so far match, one segment at a time. */
function matchSegments(segments: readonly Segment[], names: readonly string[]): boolean {
  let reached = new Set([0]);
  for (const segment of segments) {
    const next = new Set<number>();
    if (segment === "**") {
      for (let i = Math.min(...reached); i <= names.length; i++) next.add(i);
    } else {
      for (const at of reached) {
        const name = names[at];
        if (name !== undefined && matchName(segment, [...name])) next.add(at + 1);
      }
    }
    if (next.size === 0) return false;
    reached = next;
  }
  return reached.has(names.length);
}

/** Backtracks to the last star only: an earlier one can't match more. */
function matchName(tokens: readonly Token[], characters: readonly string[]): boolean {
  let token = 0;
  let star = -1;
  let restart = 0;
  for (let at = 0; at < characters.length; ) {
    const test = tokens[token];
    if (test === null) {
      star = token++;
      restart = at;
    } else if (test?.(characters[at] ?? "")) {
      token++;
      at++;
    } else if (star >= 0) {
      token = star + 1;
      at = ++restart;
    } else {
      return false;
    }
  }
  while (tokens[token] === null) token++;
  return token === tokens.length;
}

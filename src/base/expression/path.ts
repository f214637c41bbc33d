const SPACE = /\s*/y;
const ROOT = /[\p{L}_$@][\p{L}\p{N}_$@-]*/uy;
const KEY = /[\p{L}\p{N}_$@-]+/uy;
const INDEX = /\d{1,15}/y;
const QUOTED = /"[^"\\]*(?:\\.[^"\\]*)*"/y;

/** No value is nested as deep. */
const MAX_KEYS = 1_000;

/** CEL keywords, which aren't names. */
const CONSTANTS = ["true", "false", "null"];

/** A path: its keys, outermost first, and the position after it. */
interface Path {
  keys: string[];
  end: number;
}

/**
 * Reads the path at `at`, such as `a.b-c[0]["odd key"]`: names between dots consist of letters, digits, `_`, `-`, `$`
 * and `@`, other keys are JSON strings in brackets. Null if there is none.
 */
export function pathAt(text: string, at: number): Path | null {
  let end = at;
  const take = (pattern: RegExp): string => {
    pattern.lastIndex = end;
    const found = pattern.exec(text)?.[0] ?? "";
    end += found.length;
    return found;
  };
  const skip = (sign: string): boolean => {
    const isHere = text.charAt(end) === sign;
    if (isHere) end++;
    return isHere;
  };
  const bracketed = (): string | null => {
    take(SPACE);
    const index = take(INDEX);
    const key = index === "" ? unquoted(take(QUOTED)) : String(Number(index));
    take(SPACE);
    return skip("]") ? key : null;
  };

  const root = take(ROOT);
  if (root === "" || CONSTANTS.includes(root)) return null;
  const keys = [root];
  while (keys.length < MAX_KEYS) {
    const key = skip(".") ? take(KEY) || null : skip("[") ? bracketed() : undefined;
    if (key === undefined) break;
    if (key === null) return null;
    keys.push(key);
  }
  return { keys, end };
}

/** Null if it isn't a JSON string. */
function unquoted(text: string): string | null {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

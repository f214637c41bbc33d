import { jmespathFault } from "../../base/jmespath.ts";

const QUOTED = /`(?:[^`\\]|\\.)*`|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/g;

/**
 * The part of `dataPath` that finds the list of a page's items, if the rest filters or flattens them; null if the whole
 * path finds the list.
 */
export function listPathOf(dataPath: string): string | null {
  const bare = dataPath.replace(QUOTED, (text) => "_".repeat(text.length));
  const at = bare.search(/\[(?:\?|\]|\*\]|-?\d*:)/);
  return at < 0 ? null : dataPath.slice(0, at) || "@";
}

/** True if pages can't be counted by their items, because of this `dataPath`. */
export function isUncountable(dataPath: string): boolean {
  const list = listPathOf(dataPath);
  return list !== null && jmespathFault(list) !== null && jmespathFault(dataPath) === null;
}

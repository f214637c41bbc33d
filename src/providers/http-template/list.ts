import { jmespathFault } from "../../base/jmespath.ts";

const QUOTED = /`(?:[^`\\]|\\.)*`|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/g;

/**
 * The part of `dataPath` that finds the list of a page's items, where what follows passes over some of them or unfolds
 * them; null where the path finds the list itself.
 */
export function listPathOf(dataPath: string): string | null {
  const bare = dataPath.replace(QUOTED, (text) => "_".repeat(text.length));
  const at = bare.search(/\[(?:\?|\]|\*\]|-?\d*:)/);
  return at < 0 ? null : dataPath.slice(0, at) || "@";
}

/** True where the pages of a `dataPath`, which can be read, can't be counted by their items. */
export function isUncountable(dataPath: string): boolean {
  const list = listPathOf(dataPath);
  return list !== null && jmespathFault(list) !== null && jmespathFault(dataPath) === null;
}

/** Returns why a path could escape its directory, as a sentence. Null if it can't. */
export const upwardFault = (path: string): string | null =>
  path.split(/[/\\]/).includes("..") ? 'A path can\'t contain "..". Name the folder itself.' : null;

/** Pattern for shapes that refuses the same paths as `upwardFault`. */
export const NOT_UPWARD = "^(?!(.*[/\\\\])?\\.\\.([/\\\\]|$))";

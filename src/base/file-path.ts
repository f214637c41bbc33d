/** Why a path could lead out of its folder, as a sentence; null where it can't. */
export const upwardFault = (path: string): string | null =>
  path.split(/[/\\]/).includes("..") ? 'A path can\'t contain "..". Name the folder itself.' : null;

/** What `upwardFault` refuses, as a pattern of a shape. */
export const NOT_UPWARD = "^(?!(.*[/\\\\])?\\.\\.([/\\\\]|$))";

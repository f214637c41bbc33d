/** Returns whether this is the path of a single resource. */
export const isSinglePath = (path: string): boolean => /\/(\{\w+\}|current|me|draft|layout)$/.test(path);

/** Returns the path where the resource that an operation at `path` changes is read. */
export const readPathOf = (path: string): string => path.replace(/\/me\/preferences$/, "/me");

/** Returns whether an operation can change a resource that others read. Then it accepts `If-Match`. */
export const mayChange = ({ method, audience }: { method: string; audience: string }): boolean =>
  ["PATCH", "PUT", "DELETE"].includes(method) && audience !== "public";

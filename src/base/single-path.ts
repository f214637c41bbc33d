/** True for the path of one thing, which is read and changed by itself. */
export const isSinglePath = (path: string): boolean => /\/(\{\w+\}|current|me|draft|layout)$/.test(path);

/** Where the thing is read that an operation at `path` changes. */
export const readPathOf = (path: string): string => path.replace(/\/me\/preferences$/, "/me");

/** True where an operation changes a thing that others read: it takes `If-Match`. */
export const mayChange = ({ method, audience }: { method: string; audience: string }): boolean =>
  ["PATCH", "PUT", "DELETE"].includes(method) && audience !== "public";

/* Weir can be served below a path of its host, the base path, such as `/weir`. "" is the root. None of Weir's own paths
   starts with a base path (src/config.ts refuses such names), so a path shows whether it includes it. */

/** Returns the path of a URL that was read by `site` (base/setting.ts). */
export const pathOf = (address: string | null): string =>
  address === null ? "" : address.replace(/^\w+:\/\/[^/]*/, "");

/** Returns whether `path`, with or without query and fragment, is the base path or below it. */
export const isBelow = (base: string, path: string): boolean =>
  path.startsWith(base) && /^(?:[/?#]|$)/.test(path.slice(base.length));

/** Adds the base path to a path of Weir, unless it has it already. */
export const withBase = (base: string, path: string): string =>
  base === "" || isBelow(base, path) ? path : base + path;

/** Removes the base path. */
export const withoutBase = (base: string, path: string): string =>
  base !== "" && isBelow(base, path) ? path.slice(base.length) || "/" : path;

/** Rewrites an HTML page for `base`: its URLs start with it, and its scripts read it from `data-base`. */
export const pageBelow = (html: string, base: string): string =>
  base === ""
    ? html
    : html
        .replace(/ (href|src)="\/(?!\/)/g, ` $1="${base}/`)
        .replace(/<html(?=[ >])/, `<html data-base="${base}"`);

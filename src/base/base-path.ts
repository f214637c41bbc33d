/*
 * Weir may stand below a path of its host, its base path, such as `/weir`; "" is the root. Nothing of ours begins with
 * one (src/config.ts refuses such names), so that an address tells by itself whether it is written with it.
 */

/** Of an address that was read by `site` (base/setting.ts). */
export const pathOf = (address: string | null): string =>
  address === null ? "" : address.replace(/^\w+:\/\/[^/]*/, "");

/** Whether `path`, with whatever follows it, is the base path or lies below it. */
export const isBelow = (base: string, path: string): boolean =>
  path.startsWith(base) && /^(?:[/?#]|$)/.test(path.slice(base.length));

/** A path of ours as the world asks for it; one that is written so already is left. */
export const withBase = (base: string, path: string): string =>
  base === "" || isBelow(base, path) ? path : base + path;

/** The other way round. */
export const withoutBase = (base: string, path: string): string =>
  base !== "" && isBelow(base, path) ? path.slice(base.length) || "/" : path;

/** An HTML page of ours below `base`: its addresses lead there, and its scripts find it as `data-base`. */
export const pageBelow = (html: string, base: string): string =>
  base === ""
    ? html
    : html
        .replace(/ (href|src)="\/(?!\/)/g, ` $1="${base}/`)
        .replace(/<html(?=[ >])/, `<html data-base="${base}"`);

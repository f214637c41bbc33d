const NEEDS_ESCAPE = /[&<>\p{Cc}\uFFFE\uFFFF]|_x[0-9A-Fa-f]{4}_/u;
/** What XML 1.0 has no character for, and the carriage return, which a parser would make a line feed. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const UNWRITABLE = /[\x00-\x08\x0B-\x1F\uFFFE\uFFFF]/g;
/** The underscore of a text that looks like such an escape. */
const ESCAPE_LIKE = /_(?=x[0-9A-Fa-f]{4}_)/g;

/** Text as it stands between tags, with `_xHHHH_` for what XML can't hold (ECMA-376 part 1, 22.9.2.19). */
export function cellText(text: string): string {
  if (!NEEDS_ESCAPE.test(text)) return text;
  return text
    .replaceAll(ESCAPE_LIKE, "_x005F_")
    .replaceAll(UNWRITABLE, (char) => `_x${char.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}_`)
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;");
}

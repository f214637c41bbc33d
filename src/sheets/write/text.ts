const NEEDS_ESCAPE = /[&<>\p{Cc}\uFFFE\uFFFF]|_x[0-9A-Fa-f]{4}_/u;
/** Characters that XML 1.0 can't contain, and the carriage return, which a parser would convert to a line feed. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern matches control characters
const UNWRITABLE = /[\x00-\x08\x0B-\x1F\uFFFE\uFFFF]/g;
/** The underscore of text that looks like such an escape. */
const ESCAPE_LIKE = /_(?=x[0-9A-Fa-f]{4}_)/g;

/** Text content of an element, with `_xHHHH_` for characters that XML can't contain (ECMA-376 part 1, 22.9.2.19). */
export function cellText(text: string): string {
  if (!NEEDS_ESCAPE.test(text)) return text;
  return text
    .replaceAll(ESCAPE_LIKE, "_x005F_")
    .replaceAll(UNWRITABLE, (char) => `_x${char.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}_`)
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;");
}

/**
 * PostgreSQL can't store U+0000. U+0001 escapes it and itself, followed by a second character, so that the sort
 * order is preserved.
 */
const STORED_JSON = /(?<!\\)((?:\\\\)*)\\u0001\\u000([12])/g;

/** Encodes a text for PostgreSQL. */
export const storedText = (text: string): string =>
  text.includes("\0") || text.includes("\u0001")
    ? text.replaceAll("\u0001", "\u0001\u0002").replaceAll("\0", "\u0001\u0001")
    : text;

/** Decodes a text from PostgreSQL. */
export const textOf = (stored: string): string =>
  stored.includes("\u0001")
    ? stored.replaceAll("\u0001\u0001", "\0").replaceAll("\u0001\u0002", "\u0001")
    : stored;

/** Decodes JSON that PostgreSQL built from encoded texts. */
export const jsonOf = (made: string): string =>
  made.includes("\\u0001")
    ? made.replace(STORED_JSON, (_, before, which) => `${before}\\u000${which === "1" ? 0 : 1}`)
    : made;

/** PostgreSQL can't have U+0000 in a text: U+0001 escapes it and itself, by what comes after it, so that texts keep their order. */
const STORED_JSON = /(?<!\\)((?:\\\\)*)\\u0001\\u000([12])/g;

/** A text as PostgreSQL keeps it. */
export const storedText = (text: string): string =>
  text.includes("\0") || text.includes("\u0001")
    ? text.replaceAll("\u0001", "\u0001\u0002").replaceAll("\0", "\u0001\u0001")
    : text;

/** A text that PostgreSQL kept. */
export const textOf = (stored: string): string =>
  stored.includes("\u0001")
    ? stored.replaceAll("\u0001\u0001", "\0").replaceAll("\u0001\u0002", "\u0001")
    : stored;

/** JSON that PostgreSQL made of texts that it keeps. */
export const jsonOf = (made: string): string =>
  made.includes("\\u0001")
    ? made.replace(STORED_JSON, (_, before, which) => `${before}\\u000${which === "1" ? 0 : 1}`)
    : made;

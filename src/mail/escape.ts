/** Text that others chose, such as a name: on one line, and without working links. */
export function oneLine(text: string, maxCharacters = 100): string {
  const line = text
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ")
    .replaceAll("://", ": //")
    .trim();
  const characters = Array.from(line);
  return characters.length <= maxCharacters ? line : `${characters.slice(0, maxCharacters - 1).join("")}…`;
}

const MAX_LINE_CHARACTERS = 1_000;

/** A line of a mail, at its maximum length. */
export const plain = (text: string) => oneLine(text, MAX_LINE_CHARACTERS);

/** The same in HTML. */
export const escaped = (text: string) => encoded(plain(text));

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

export const encoded = (text: string) =>
  text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character);

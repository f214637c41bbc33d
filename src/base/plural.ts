/** Returns a count with its noun, such as "1 run" and "1,204 runs". */
export const plural = (count: number, { one, other }: { one: string; other: string }): string =>
  `${count.toLocaleString("en")} ${Math.abs(count) === 1 ? one : other}`;

/** Returns a text with its first letter in upper case. */
export const capitalized = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;

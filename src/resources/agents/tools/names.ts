/** Models take names of so many characters. */
const MAX_CHARACTERS = 64;

/** A tool's name: letters, digits, `_` and `-`; a long one ends in a hash, so that no two come to be one. */
export function toolName(...parts: readonly string[]): string {
  const plain = parts.join("_");
  const name = plain.replace(/[^A-Za-z0-9_-]/g, "_");
  if (name === plain && name.length <= MAX_CHARACTERS) return name;
  return `${name.slice(0, MAX_CHARACTERS - 9)}_${Bun.SHA256.hash(plain, "hex").slice(0, 8)}`;
}

/** Maximum length of a name for models. */
const MAX_CHARACTERS = 64;

/** Returns a tool's name: letters, digits, `_` and `-`. A long one ends in a hash, so that names stay unique. */
export function toolName(...parts: readonly string[]): string {
  const plain = parts.join("_");
  const name = plain.replace(/[^A-Za-z0-9_-]/g, "_");
  if (name === plain && name.length <= MAX_CHARACTERS) return name;
  return `${name.slice(0, MAX_CHARACTERS - 9)}_${Bun.SHA256.hash(plain, "hex").slice(0, 8)}`;
}

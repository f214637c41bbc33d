export const ESCAPED = /^\$+\{[^{}]*\}$/;
/** Within longer text, names must be uppercase: `${name}` in a script is the script's own. */
export const WITHIN = /(\$+)\{([A-Z_][A-Z0-9_]*)\}/g;

/** Escapes a text for a file, so that it contains no placeholder. */
export const escaped = (text: string): string =>
  ESCAPED.test(text) ? `$${text}` : text.replace(WITHIN, (one) => `$${one}`);

/** Returns the name of an environment variable for a path. */
export function variableName(words: readonly string[]): string {
  const name = words
    .join("_")
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toUpperCase()
    .replace(/[^A-Z0-9]+/g, "_")
    .replace(/^_+|_+$/g, "");
  return /^[A-Z]/.test(name) ? name : `WEIR_${name}`;
}

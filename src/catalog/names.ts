/** Maximum length of a tool name that models accept. */
const MODEL_NAME_CHARACTERS = 64;
const SLUG_CHARACTERS = 24;
const HASH_CHARACTERS = 12;

const hashOf = (text: string) => Bun.SHA256.hash(text, "hex").slice(0, HASH_CHARACTERS);

/**
 * `<slug>__<name>`, at most 64 characters of `[A-Za-z0-9_-]`, deterministic. A name that is too long or has other
 * characters is cut and ends with a hash of the whole, as does a name that looks as if it had such a hash. A slug has
 * no `_`, so no two pairs give the same name.
 */
export function modelName(slug: string, name: string): string {
  const plain = `${slug}__${name}`;
  const isPlain =
    plain.length <= MODEL_NAME_CHARACTERS && /^[A-Za-z0-9_-]+$/.test(name) && !/_[0-9a-f]{12}$/.test(name);
  if (isPlain) return plain;
  const start = slug.slice(0, SLUG_CHARACTERS);
  const room = MODEL_NAME_CHARACTERS - start.length - HASH_CHARACTERS - 3;
  const cleaned = name.replace(/[^A-Za-z0-9_-]+/g, "_").slice(0, room);
  return `${start}__${cleaned}_${hashOf(plain)}`;
}

const MAX_NAME = 128;

/** An operation's ID as a name of `[A-Za-z0-9_.-]`; without an ID, method and path, such as `get_orders_by_id`. */
export function endpointName(operationId: string | null, method: string, path: string): string {
  const own = (operationId ?? "")
    .trim()
    .replace(/[^A-Za-z0-9_.-]+/g, "_")
    .replace(/^_+|_+$/g, "");
  if (own !== "") return own.slice(0, MAX_NAME);
  const parts = path
    .split("/")
    .map((part) => part.replace(/\{([^}]*)\}/g, "by_$1").replace(/[^A-Za-z0-9_.-]+/g, "_"))
    .map((part) => part.replace(/^_+|_+$/g, ""))
    .filter((part) => part !== "");
  return [method.toLowerCase(), ...parts].join("_").slice(0, MAX_NAME);
}

/** Makes names unique: the second one gets `_2`, and so on. */
export function uniqueNames(maxLength = MAX_NAME): (name: string) => string {
  const taken = new Set<string>();
  const next = new Map<string, number>();
  return (name) => {
    let free = name;
    for (let n = next.get(name) ?? 2; taken.has(free); n++) {
      const suffix = `_${n}`;
      free = `${name.slice(0, maxLength - suffix.length)}${suffix}`;
      next.set(name, n + 1);
    }
    taken.add(free);
    return free;
  };
}

/** An argument name that models accept: some refuse other characters and empty names. */
export const argumentName = (name: string) =>
  name
    .replace(/[^A-Za-z0-9_.-]+/g, "_")
    .replace(/^_+|_+$/g, "")
    .slice(0, 64) || "value";

/** `input.x` as a template expression. */
export const inputTemplate = (name: string) =>
  /^[A-Za-z_][A-Za-z0-9_-]*$/.test(name) ? `{{input.${name}}}` : `{{input[${JSON.stringify(name)}]}}`;

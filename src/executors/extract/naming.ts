/** Longer names are shortened, with a hash in the middle that keeps them unique. */
const MAX_NAME_CHARACTERS = 120;

/** Columns that the load adds. Source columns with these names are renamed. */
const LOAD_COLUMNS = ["_dlt_id", "_dlt_load_id"] as const;
const CHILD_COLUMNS = ["_dlt_parent_id", "_dlt_list_idx", "_dlt_root_id"] as const;
/** In tables of versions: a fingerprint of the row, and its period of validity. */
export const HISTORY_COLUMNS = ["_dlt_row_hash", "_dlt_valid_from", "_dlt_valid_to"] as const;
/** In tables that keep deleted rows: when the row was found to be missing from the source. */
export const DELETED_COLUMN = "_dlt_deleted_at";
/** In tables with a key that the source doesn't compare by its bytes: a stand-in for it. */
export const KEY_COLUMN = "_dlt_key";
export const META_COLUMNS: readonly string[] = [
  ...LOAD_COLUMNS,
  ...CHILD_COLUMNS,
  ...HISTORY_COLUMNS,
  DELETED_COLUMN,
  KEY_COLUMN,
];

/** Joins the parts of a nested name, as in `address__city`. No part contains it. */
export const PATH_SEPARATOR = "__";

/**
 * Converts `name` as dlt's snake_case convention does, so that both create the same tables: `orderId` and `Order ID`
 * become `order_id`. Unlike dlt, keeps letters and digits of all scripts, and removes a trailing underscore that comes
 * from punctuation: `Total ($)` becomes `total`, while `total_` becomes `totalx` as with dlt.
 */
export function normaliseName(name: string): string {
  const text = name.normalize("NFC").trim();
  const reduced = text.replaceAll(/[+*@|-]/g, (sign) => REDUCED[sign] ?? "_");
  const plain = reduced.replace(/[^\p{L}\p{M}\p{N}_]+$/u, "").replaceAll(/[^\p{L}\p{M}\p{N}_]+/gu, "_");
  const snake = plain
    .replaceAll(/([^_])(\p{Lu}\p{Ll}+)/gu, "$1_$2")
    .replaceAll(/([\p{Ll}\p{N}])(\p{Lu})/gu, "$1_$2")
    .toLowerCase()
    .normalize("NFC")
    .replace(/^(?=\p{N})/u, "_")
    .replace(/_+$/, (tail) => "x".repeat(tail.length))
    .replaceAll(/__+/g, "_");
  return shorten(snake === "" || snake === "_" ? "unnamed" : snake);
}

/** The column that a name with dots means: of a field in nested objects. */
export const columnPath = (name: string): string => name.split(".").map(normaliseName).join(PATH_SEPARATOR);

/**
 * A normalized name in ASCII, for a table whose files use it. Accents are removed, and letters of other scripts are
 * written as their code, `漢` as `u6f22`.
 */
export function asciiName(name: string): string {
  const ascii = [...name.normalize("NFKD").replaceAll(/\p{M}/gu, "").toLowerCase()]
    .map((sign) => (sign <= "\x7f" ? sign : (LATIN[sign] ?? `u${sign.codePointAt(0)?.toString(16)}`)))
    .join("")
    .replaceAll(/[^a-z0-9_]+/g, "_")
    .replace(/^(?=\d)/, "_");
  return shorten(ascii === "" ? "unnamed" : ascii);
}

const LATIN: Readonly<Record<string, string>> = {
  ß: "ss",
  æ: "ae",
  ø: "o",
  œ: "oe",
  đ: "d",
  ł: "l",
  þ: "th",
  ı: "i",
};

const REDUCED: Readonly<Record<string, string>> = { "+": "x", "-": "_", "*": "x", "@": "a", "|": "l" };

function shorten(name: string): string {
  if (name.length <= MAX_NAME_CHARACTERS) return name;
  const hash = Bun.hash.xxHash64(name).toString(36);
  const kept = MAX_NAME_CHARACTERS - hash.length - 2;
  // An unpaired surrogate isn't a letter.
  const head = name
    .slice(0, Math.ceil(kept / 2))
    .replace(/[\ud800-\udbff]$/, "")
    .replace(/_+$/, "");
  const tail = name
    .slice(name.length - Math.floor(kept / 2))
    .replace(/^[\udc00-\udfff]/, "")
    .replace(/^_+/, "");
  return `${head}_${hash}_${tail}`;
}

/** Joins normalized parts of a nested name. */
export const joinNames = (parts: readonly string[]): string => shorten(parts.join(PATH_SEPARATOR));

/** The column whose other values are in the column `name`: `v` for `v__v_text`. Null if it isn't named so. */
export const variantOwner = (name: string): string | null =>
  /^(.+)__v_[a-z]+(?:_\d+)?$/.exec(name)?.[1] ?? null;

/** Tracks used names, and appends `_2`, `_3` … to later ones. */
export class Names {
  readonly #taken: Set<string>;

  constructor(taken: Iterable<string> = META_COLUMNS) {
    this.#taken = new Set(taken);
  }

  copy(): Names {
    return new Names(this.#taken);
  }

  has(name: string): boolean {
    return this.#taken.has(name);
  }

  /** `name`, or the first free one after it. */
  take(name: string): string {
    let free = name;
    for (let n = 2; this.#taken.has(free); n++) free = `${name}_${n}`;
    this.#taken.add(free);
    return free;
  }
}

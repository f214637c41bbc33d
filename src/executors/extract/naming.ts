import { LOAD_COLUMNS } from "../../sql/column-names.ts";

/** Longer names are shortened, with a hash in the middle that keeps them unique. */
const MAX_NAME_CHARACTERS = 120;

export const PARENT_COLUMN = "_dlt_parent_id";
const CHILD_COLUMNS = [PARENT_COLUMN, "_dlt_list_idx", "_dlt_root_id"] as const;
/** In tables of versions: a fingerprint of the row, and its period of validity. */
export const HISTORY_COLUMNS = ["_dlt_row_hash", "_dlt_valid_from", "_dlt_valid_to"] as const;
/** In tables that keep deleted rows: when the row was found to be missing from the source. */
export const DELETED_COLUMN = "_dlt_deleted_at";
/** In tables with a key that the source doesn't compare by its bytes: a stand-in for it. */
export const KEY_COLUMN = "_dlt_key";
/** Columns of the lake's own. Source columns with these names are renamed. */
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

/** A column or child table of earlier loads. */
export interface KnownName {
  name: string;
  /** What the source calls it. Absent if an older version created it. */
  source?: string;
}

/** Tracks used names, and appends `_2`, `_3` … to later ones. A source name keeps the name that it had before. */
export class Names {
  /** What was given each name in this load. Null for reserved names. */
  readonly #taken: Map<string, string | null>;
  /** Source names by the names of earlier loads; null if not recorded. */
  readonly #owners = new Map<string, string | null>();
  readonly #recorded = new Map<string, Set<string>>();
  readonly #expected = new Set<string>();
  /** Names that an earlier version may have given to another source name: by the name that is now missing. */
  readonly #unsure = new Map<string, { source: string; name: string }>();

  constructor(
    taken: Iterable<string> = META_COLUMNS,
    readonly known: readonly KnownName[] = [],
    /** Whether no earlier rows stay, so that a source name may get another name. */
    readonly isReplaced = false,
  ) {
    this.#taken = new Map([...taken].map((name) => [name, null]));
    for (const { name, source } of known) {
      this.#record(name, source);
      // A field in nested objects tells the names of the objects.
      const [parts, keys] = [name.split(PATH_SEPARATOR), source?.split(".") ?? []];
      if (parts.length !== keys.length) continue;
      for (let n = 1; n < parts.length; n++)
        this.#record(parts.slice(0, n).join(PATH_SEPARATOR), keys.slice(0, n).join("."));
    }
  }

  #record(name: string, source: string | undefined): void {
    if (!this.#owners.get(name)) this.#owners.set(name, source ?? null);
    if (source === undefined) return;
    const names = this.#recorded.get(source) ?? new Set();
    this.#recorded.set(source, names.add(name));
  }

  copy(): Names {
    const copy = new Names([], this.known, this.isReplaced);
    for (const [name, source] of this.#taken) copy.#taken.set(name, source);
    return copy;
  }

  has(name: string): boolean {
    return this.#taken.has(name);
  }

  /** The source name that had `name` in earlier loads. */
  ownerOf(name: string): string | null {
    return this.#owners.get(name) ?? null;
  }

  /** Keeps the names of these source names free for them. */
  expect(sources: Iterable<string>): void {
    for (const source of sources) this.#expected.add(source);
  }

  /** The name that `source` had in earlier loads, among those made from `wanted`. */
  recorded(wanted: string, source: string): string | null {
    for (const name of this.#recorded.get(source) ?? []) if (isNumbered(name, wanted)) return name;
    return null;
  }

  /** What was given `name` in this load. */
  holderOf(name: string): string | null {
    return this.#taken.get(name) ?? null;
  }

  /** The name that `source` had before, `wanted`, or the first free one after it. */
  take(wanted: string, source: string = wanted): string {
    const before = this.recorded(wanted, source);
    const isKept = before !== null && !this.#taken.has(before);
    const name = isKept ? before : this.#isOpen(wanted) ? wanted : this.#numbered(wanted);
    this.#taken.set(name, source);
    this.#unsure.delete(name);
    const next = `${wanted}_2`;
    const isUnsure = [name, next].every((each) => this.#owners.get(each) === null);
    if (name === wanted && source !== wanted && isUnsure && !this.#taken.has(next))
      this.#unsure.set(next, { source, name });
    return name;
  }

  /** Whether an earlier version may have given `name` to another source name. */
  isUnsure(name: string): boolean {
    return [...this.#unsure.values()].some((unsure) => unsure.name === name);
  }

  /** Sentences about names that may have changed, since an older version didn't record their sources. */
  unsureNames(table: string): string[] {
    return [...this.#unsure].map(
      ([other, { source, name }]) =>
        `"${source}" of ${table} is written to ${name}. Earlier loads may have written it to ${other}, which this load doesn't have.`,
    );
  }

  /** Whether a source name without one of its own may have `name`: nothing else in this load does. */
  #isOpen(name: string): boolean {
    if (this.#taken.has(name)) return false;
    const owner = this.ownerOf(name);
    return owner === null || !(this.#expected.has(owner) || this.#hasRenamed(name));
  }

  /** Whether earlier loads renamed something because of `name`. */
  #hasRenamed(name: string): boolean {
    const owner = this.#owners.get(`${name}_2`);
    if (!owner) return false;
    return [columnPath(owner), normaliseName(owner)].every((plain) => !`${name}_2`.endsWith(plain));
  }

  #numbered(wanted: string): string {
    for (let n = 2; ; n++) {
      const name = `${wanted}_${n}`;
      if (!this.#taken.has(name) && this.ownerOf(name) === null) return name;
    }
  }
}

/** Whether `name` is `wanted`, or that with a number because it was taken. */
export const isNumbered = (name: string, wanted: string): boolean =>
  name.startsWith(wanted) && /^(?:_\d+)?$/.test(name.slice(wanted.length));

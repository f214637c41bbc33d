import type { Json, JsonObject } from "./json.ts";
import { exactJson, parseLossless } from "./json-numbers.ts";
import type { RepeatedKey } from "./repeated-keys.ts";
import { inSlices, type Work } from "./slices.ts";

/** Members of a long list or object are parsed together, in pieces of about this many characters. */
const PIECE_CHARACTERS = 32 * 1024;
/** Characters between checks of the time. */
const WINDOW_CHARACTERS = 8_192;

/** Limits in addition to the grammar. */
export interface JsonRules {
  maxDepth: number;
  /** Maximum number of lists and objects. */
  maxObjects: number;
  /** Maximum number of values, as counted by brackets and commas. */
  maxValues: number;
  /** Maximum number of keys per object. Null allows any number and duplicates. */
  maxKeys: number | null;
  /** Limits beyond which parts are kept as text. */
  asText?: AsText;
}

/**
 * Lists and objects that exceed both limits are replaced by the result of `make` for their JSON, if they are nested
 * at least this deep (the top level has depth 1). Inside them, only strings and brackets are checked. The JavaScript
 * engine has a table of all short strings: with a million of them, growing or cleaning it takes 200 ms at a time.
 */
interface AsText {
  depth: number;
  characters: number;
  values: number;
  make(text: string): Json;
}

/** The violated limit, with the duplicate key, or the reason for `grammar`. */
export class JsonRefused extends Error {
  override readonly name = "JsonRefused";
  constructor(
    readonly rule: "grammar" | "depth" | "objects" | "values" | "keys" | "key",
    readonly what = "",
  ) {
    super(`${rule}: ${what}`);
  }
}

/** A list or object that isn't closed yet. */
interface Open {
  isList: boolean;
  /** Keys so far. Null if duplicates are allowed. */
  keys: Set<string> | null;
  /** What was parsed of it. Null while it is short enough to be parsed together with its parent. */
  value: Json[] | JsonObject | null;
  /** Its start, the start of its unparsed part, and of its last member. */
  start: number;
  from: number;
  member: number;
  /** Position of the last member's key. -1 if there is none. */
  keyStart: number;
  keyEnd: number;
  /** After a member that was parsed by itself, only a comma or the end can follow. */
  isAfterLong: boolean;
  /** Number of values before it. */
  valuesBefore: number;
  /** Whether it is kept as text, or is inside a part that is. */
  text: "kept" | "inside" | null;
}

/**
 * Parses long JSON, giving other requests their turns.
 * `parse` is called with lists and objects that contain parts of it. Throws `JsonRefused`.
 */
export const parseLong = (
  text: string,
  rules: JsonRules,
  parse: (piece: string) => unknown = parseLossless,
  onRepeated: OnRepeated | null = null,
): Promise<Json> => inSlices(parsing(text, new Parser(text, rules, parse, onRepeated)));

/** Called for a key that appears in two parts of an object that are parsed separately. */
type OnRepeated = (key: RepeatedKey) => void;

function* parsing(text: string, parser: Parser): Work<Json> {
  const { length } = text;
  let window = WINDOW_CHARACTERS;
  for (let i = 0; i < length; i++) {
    if (i >= window) {
      window = i + WINDOW_CHARACTERS;
      yield;
    }
    switch (text.charCodeAt(i)) {
      case 0x22: {
        const start = i;
        for (i++; i < length && text.charCodeAt(i) !== 0x22; i++) {
          if (text.charCodeAt(i) === 0x5c) i++;
          if (i >= window) {
            window = i + WINDOW_CHARACTERS;
            yield;
          }
        }
        if (i >= length) throw new JsonRefused("grammar", "Unterminated string");
        if (parser.isKey) parser.key(start, i + 1);
        break;
      }
      case 0x7b:
        parser.open(i, false);
        break;
      case 0x5b:
        parser.open(i, true);
        break;
      case 0x7d:
      case 0x5d:
        if (parser.close(i)) yield;
        break;
      case 0x2c:
        if (parser.comma(i)) yield;
        break;
    }
  }
  return parser.end();
}

const BLANK = /^[ \t\n\r]*$/;
const COLON = /^[ \t\n\r]*:[ \t\n\r]*$/;

class Parser {
  /** True if the next string is a key. */
  isKey = false;
  readonly #text: string;
  readonly #rules: JsonRules;
  readonly #parse: (piece: string) => unknown;
  readonly #onRepeated: OnRepeated | null;
  /** The last is the innermost, the first is around the whole text. */
  readonly #open: Open[] = [];
  #at: Open;
  #objects = 0;
  #values = 0;

  constructor(
    text: string,
    rules: JsonRules,
    parse: (piece: string) => unknown,
    onRepeated: OnRepeated | null,
  ) {
    this.#text = text;
    this.#rules = rules;
    this.#parse = parse;
    this.#onRepeated = onRepeated;
    this.#at = opened(-1, true, null, 0, null);
    this.#open.push(this.#at);
  }

  key(start: number, end: number): void {
    const at = this.#at;
    this.isKey = false;
    at.keyStart = start;
    at.keyEnd = end;
    if (!at.keys) return;
    const raw = this.#text.slice(start, end);
    const name = raw.includes("\\") ? this.#name(raw) : raw.slice(1, -1);
    if (at.keys.has(name)) throw new JsonRefused("key", name);
    if (at.keys.size === this.#rules.maxKeys) throw new JsonRefused("keys");
    at.keys.add(name);
  }

  open(i: number, isList: boolean): void {
    if (++this.#objects > this.#rules.maxObjects) throw new JsonRefused("objects");
    this.#count();
    if (this.#open.length > this.#rules.maxDepth) throw new JsonRefused("depth");
    if (this.#at.isAfterLong) throw missing("a comma");
    const text = this.#at.text === null ? null : "inside";
    this.#at = opened(i, isList, this.#rules.maxKeys, this.#values, text);
    this.#open.push(this.#at);
    this.isKey = !isList;
  }

  /** Returns whether something was parsed. */
  close(i: number): boolean {
    const closed = this.#at;
    const isList = this.#text.charCodeAt(i) === 0x5d;
    if (this.#open.length === 1 || closed.isList !== isList) throw missing("an opening bracket");
    this.#open.pop();
    const at = this.#open.at(-1) as Open;
    this.#at = at;
    this.isKey = false;
    if (closed.text === "inside") return false;
    if (closed.value === null && i - closed.start < PIECE_CHARACTERS) return false;
    if (closed.text === null) this.#finish(closed, i);
    else closed.value = this.#rules.asText?.make(this.#text.slice(closed.start, i + 1)) as JsonObject;
    this.#take(at, closed, i + 1);
    return true;
  }

  /** Returns whether something was parsed. */
  comma(i: number): boolean {
    const at = this.#at;
    this.#count();
    this.isKey = !at.isList;
    if (at.text !== null || this.#becomesText(at, i)) return false;
    const isLong = !at.isAfterLong && i - at.from >= PIECE_CHARACTERS;
    if (isLong) this.#flush(at, i);
    if (at.isAfterLong) this.#checkBlank(at.from, i);
    if (isLong || at.isAfterLong) at.from = i + 1;
    at.isAfterLong = false;
    at.member = i + 1;
    at.keyStart = -1;
    return isLong;
  }

  end(): Json {
    const [root] = this.#open;
    if (this.#open.length !== 1 || !root) throw missing("a closing bracket");
    this.#finish(root, this.#text.length);
    const values = root.value as Json[];
    if (values.length !== 1) throw new JsonRefused("grammar", "Expected one value");
    return values[0] as Json;
  }

  /** Returns true from the comma at which a list or object exceeds the limits. */
  #becomesText(at: Open, i: number): boolean {
    const { asText } = this.#rules;
    if (asText === undefined || i - at.start <= asText.characters) return false;
    if (this.#open.length <= asText.depth || this.#values - at.valuesBefore <= asText.values) return false;
    at.text = "kept";
    at.value = null;
    at.isAfterLong = false;
    return true;
  }

  #count(): void {
    if (++this.#values > this.#rules.maxValues) throw new JsonRefused("values");
  }

  /** Parses the rest of a list or object that ends here. */
  #finish(at: Open, end: number): void {
    if (at.isAfterLong) return this.#checkBlank(at.from, end);
    if (at.value === null && BLANK.test(this.#text.slice(at.from, end))) at.value = at.isList ? [] : {};
    else this.#flush(at, end);
  }

  /** Parses the unparsed members before `end`. There must be at least one. */
  #flush(at: Open, end: number): void {
    const inner = this.#text.slice(at.from, end);
    const members = this.#read(at.isList ? `[${inner}]` : `{${inner}}`);
    let count = 0;
    if (Array.isArray(members)) {
      at.value ??= [];
      for (const item of members) (at.value as Json[]).push(item);
      count = members.length;
    } else {
      at.value ??= {};
      for (const name in members as JsonObject) {
        this.#put(at.value as JsonObject, name, (members as JsonObject)[name] as Json);
        count++;
      }
    }
    if (count === 0) throw missing("a value");
  }

  /** Appends a member that was parsed by itself. */
  #take(at: Open, { start, value }: Open, end: number): void {
    if (at.isAfterLong) throw missing("a comma");
    if (at.member > at.from) this.#flush(at, at.member - 1);
    if (at.isList) {
      this.#checkBlank(at.member, start);
      at.value ??= [];
      (at.value as Json[]).push(value as Json);
    } else {
      if (at.keyStart < 0) throw missing("a key");
      this.#checkBlank(at.member, at.keyStart);
      if (!COLON.test(this.#text.slice(at.keyEnd, start))) throw missing("a colon");
      at.value ??= {};
      this.#put(at.value as JsonObject, this.#name(this.#text.slice(at.keyStart, at.keyEnd)), value as Json);
    }
    at.from = end;
    at.member = end;
    at.isAfterLong = true;
  }

  #put(target: JsonObject, name: string, value: Json): void {
    if (this.#onRepeated && Object.hasOwn(target, name))
      this.#onRepeated({ path: name, lost: exactJson(target[name]) });
    put(target, name, value);
  }

  #checkBlank(from: number, to: number): void {
    if (!BLANK.test(this.#text.slice(from, to))) throw new JsonRefused("grammar", "Unexpected token");
  }

  #name(raw: string): string {
    return (this.#read(`[${raw}]`, JSON.parse) as string[])[0] ?? "";
  }

  #read(piece: string, parse = this.#parse): unknown {
    try {
      return parse(piece);
    } catch (error) {
      throw new JsonRefused("grammar", error instanceof Error ? error.message : "unreadable");
    }
  }
}

const opened = (
  start: number,
  isList: boolean,
  maxKeys: number | null,
  valuesBefore: number,
  text: Open["text"],
): Open => ({
  isList,
  keys: isList || maxKeys === null ? null : new Set(),
  value: null,
  start,
  from: start + 1,
  member: start + 1,
  keyStart: -1,
  keyEnd: -1,
  isAfterLong: false,
  valuesBefore,
  text,
});

const missing = (what: string) => new JsonRefused("grammar", `Expected ${what}`);

/** Treats `__proto__` as an ordinary name. */
function put(target: JsonObject, name: string, value: Json): void {
  if (name !== "__proto__") target[name] = value;
  else Object.defineProperty(target, name, { value, enumerable: true, writable: true, configurable: true });
}

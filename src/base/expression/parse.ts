import { ExpressionError } from "./fault.ts";
import { Lexer } from "./lexer.ts";
import { pathAt } from "./path.ts";
import { int, type Value } from "./value.ts";

/** A text with a minus sign or the like that was read as a path, and its position. */
export interface PathText {
  text: string;
  at: number;
}

/** A syntax tree. `at` is the position in the text, in characters. */
export type Node =
  | { kind: "value"; value: Value; at: number }
  | { kind: "name"; name: string; at: number }
  | { kind: "field"; of: Node; name: string; at: number }
  | { kind: "index"; of: Node; key: Node; at: number }
  | { kind: "has"; of: Node; name: string; at: number }
  | { kind: "call"; of: Node | null; name: string; args: Node[]; at: number }
  | { kind: "loop"; macro: Macro; list: Node; names: string[]; args: Node[]; at: number }
  | { kind: "not" | "negative"; of: Node; at: number }
  | { kind: "binary"; operator: string; left: Node; right: Node; at: number }
  | { kind: "choice"; condition: Node; yes: Node; no: Node; at: number }
  | { kind: "list"; items: Node[]; at: number }
  | { kind: "map"; entries: [Node, Node][]; at: number };

/** Iterates over a list or an object, with a variable for each item and expressions that use it. */
export type Macro = keyof typeof MACROS;

/** The variables and expressions of each, the most first. The first of two variables is the index or key. */
const MACROS = {
  all: [
    [2, 1],
    [1, 1],
  ],
  exists: [
    [2, 1],
    [1, 1],
  ],
  exists_one: [
    [2, 1],
    [1, 1],
  ],
  existsOne: [
    [2, 1],
    [1, 1],
  ],
  map: [
    [1, 2],
    [1, 1],
  ],
  filter: [[1, 1]],
  sortBy: [[1, 1]],
  groupBy: [[1, 1]],
  distinctBy: [[1, 1]],
  transformList: [
    [2, 2],
    [2, 1],
  ],
  transformMap: [
    [2, 2],
    [2, 1],
  ],
} as const satisfies Record<string, readonly (readonly [names: number, args: number])[]>;

const isMacro = (name: string): name is Macro => Object.hasOwn(MACROS, name);

const POWERS: Readonly<Record<string, number>> = {
  "??": 1,
  "||": 2,
  "&&": 3,
  "==": 4,
  "!=": 4,
  "<": 4,
  "<=": 4,
  ">": 4,
  ">=": 4,
  in: 4,
  "+": 5,
  "-": 5,
  "*": 6,
  "/": 6,
  "%": 6,
};

const RESERVED: ReadonlySet<string> = new Set(
  "in as break const continue else for function if import let loop package namespace return var void while".split(
    " ",
  ),
);

/** What follows the first operand of `??`, and its other operands: another one, a choice, or the end. */
const FIRST_ENDS = ["??"];
const LATER_ENDS = ["??", "?", "}", ""];
/** In a path, what CEL's names don't have. */
const ODD_NAME = /[-$@]|[.]\d/;

const MAX_DEPTH = 64;
/** No value is nested as deep. */
const MAX_KEYS = 1_000;
export const MAX_LENGTH = 4_096;

/** A parsed expression, and what in it only templates read as paths. */
interface Parsed {
  node: Node;
  paths: readonly PathText[];
}

/**
 * Parses one expression in `text`, starting at `from`. `end` is the position after it. The syntax is CEL's, without
 * messages, unsigned integers and optional fields. Weir adds `a ?? b`, which binds weaker than everything except `?
 * :` and is right-associative. Functions can be called as `f(x, …)` and as `x.f(…)`. Outside parentheses, an operand of
 * `??` that can be read as a path is one, as in templates: `a.b-c ?? d` has no subtraction.
 *
 * Throws `ExpressionError` of kind `syntax`.
 */
export function parse(text: string, from = 0): Parsed & { end: number } {
  const parser = new Parser(text, from);
  const node = parser.expression(true);
  return { node, paths: parser.paths, end: parser.at };
}

/** Parses a text that is exactly one expression. */
export function parseWhole(text: string): Parsed {
  const { end, ...parsed } = parse(text);
  if (end < text.length) throw fault(end, `unexpected ${text.charAt(end)}`);
  return parsed;
}

const fault = (at: number, reason: string) => new ExpressionError("syntax", reason, at);

class Parser {
  readonly paths: PathText[] = [];
  private readonly lexer: Lexer;
  private depth = 0;

  constructor(
    private readonly text: string,
    private readonly from: number,
  ) {
    this.lexer = new Lexer(text, from);
  }

  /** Position of the current token. */
  get at(): number {
    return this.lexer.token.at;
  }

  expression(isOutermost = false): Node {
    return this.deeper(() => {
      const condition = this.binary(1, isOutermost ? FIRST_ENDS : []);
      if (!this.is("?")) return condition;
      const { at } = this.lexer.next();
      const yes = this.binary(1);
      this.need(":");
      return { kind: "choice", condition, yes, no: this.expression(), at };
    });
  }

  private deeper(read: () => Node): Node {
    if (++this.depth > MAX_DEPTH) throw fault(this.at, `it is nested more than ${MAX_DEPTH} levels deep`);
    if (this.at - this.from > MAX_LENGTH) throw fault(this.at, `it has more than ${MAX_LENGTH} characters`);
    const node = read();
    this.depth--;
    return node;
  }

  private is(operator: string): boolean {
    const { kind, text } = this.lexer.token;
    return kind === "operator" && text === operator;
  }

  private take(operator: string): boolean {
    if (!this.is(operator)) return false;
    this.lexer.next();
    return true;
  }

  private need(operator: string): void {
    if (!this.take(operator)) throw fault(this.at, `${operator} is expected`);
  }

  /** `ends` are the tokens after which the first operand is read as a path, if it can be. */
  private binary(weakest: number, ends: readonly string[] = []): Node {
    let left = this.path(ends) ?? this.unary();
    for (;;) {
      const { kind, text: operator, at } = this.lexer.token;
      const power = kind === "operator" || operator === "in" ? (POWERS[operator] ?? 0) : 0;
      if (power < weakest) return left;
      this.lexer.next();
      const right =
        operator === "??"
          ? this.deeper(() => this.binary(power, ends.length > 0 ? LATER_ENDS : []))
          : this.binary(power + 1);
      left = { kind: "binary", operator, left, right, at };
    }
  }

  /** Null for anything but a path that only templates have, up to one of the tokens. */
  private path(ends: readonly string[]): Node | null {
    const { at } = this;
    const path = ends.length > 0 ? pathAt(this.text, at) : null;
    const text = this.text.slice(at, path?.end);
    if (path === null || path.keys[0]?.includes("-") || !ODD_NAME.test(text)) return null; // no name has a minus sign
    this.lexer.goTo(path.end);
    if (!ends.includes(this.lexer.token.text)) {
      this.lexer.goTo(at);
      return null;
    }
    this.paths.push({ text, at });
    const [name = "", ...keys] = path.keys;
    return keys.reduce<Node>((of, value) => ({ kind: "index", of, key: { kind: "value", value, at }, at }), {
      kind: "name",
      name,
      at,
    });
  }

  private unary(): Node {
    if (!this.is("!") && !this.is("-")) return this.member();
    return this.deeper(() => {
      const { text, at } = this.lexer.next();
      const { kind, value } = this.lexer.token;
      if (text === "-" && kind === "value" && typeof value === "bigint") {
        this.lexer.token.value = -value; // the lowest integer has no positive counterpart
        return this.member();
      }
      return { kind: text === "!" ? "not" : "negative", of: this.unary(), at };
    });
  }

  private member(): Node {
    let node = this.primary();
    for (let keys = 1; ; keys++) {
      if (keys >= MAX_KEYS) throw fault(this.at, "it is nested too deeply");
      if (this.take(".")) node = this.selected(node);
      else if (this.is("[")) {
        const { at } = this.lexer.next();
        const key = this.expression();
        this.need("]");
        node = { kind: "index", of: node, key, at };
      } else return node;
    }
  }

  /** Parses what follows a dot. */
  private selected(of: Node): Node {
    const { kind, text: name, at } = this.lexer.next();
    if (kind !== "name")
      throw fault(at, 'expected a name after the dot. Put other keys in brackets, as in a["b-c"]');
    return this.take("(") ? call(of, name, this.items(")"), at) : { kind: "field", of, name, at };
  }

  private primary(): Node {
    const { kind, text, value, at } = this.lexer.next();
    if (kind === "value")
      return { kind: "value", value: typeof value === "bigint" ? ranged(value, at) : value, at };
    if (kind === "end") throw fault(at, "unexpected end");
    if (kind === "operator") return this.enclosed(text, at);
    const constant = CONSTANTS.get(text);
    if (constant !== undefined) return { kind: "value", value: constant, at };
    if (RESERVED.has(text)) throw fault(at, `${text} is a reserved word in CEL`);
    return this.take("(") ? call(null, text, this.items(")"), at) : { kind: "name", name: text, at };
  }

  private enclosed(open: string, at: number): Node {
    if (open === "(") {
      const node = this.expression();
      this.need(")");
      return node;
    }
    if (open === "[") return { kind: "list", items: this.items("]"), at };
    if (open === "{") return { kind: "map", entries: this.entries(), at };
    throw fault(at, `unexpected ${open}`);
  }

  private items(close: string): Node[] {
    const items: Node[] = [];
    while (!this.is(close)) {
      items.push(this.expression());
      if (!this.take(",")) break;
    }
    this.need(close);
    return items;
  }

  private entries(): [Node, Node][] {
    const entries: [Node, Node][] = [];
    while (!this.is("}")) {
      const key = this.expression();
      this.need(":");
      entries.push([key, this.expression()]);
      if (!this.take(",")) break;
    }
    this.need("}");
    return entries;
  }
}

const CONSTANTS: ReadonlyMap<string, Value> = new Map<string, Value>([
  ["true", true],
  ["false", false],
  ["null", null],
]);

function ranged(value: bigint, at: number): bigint {
  try {
    return int(value);
  } catch {
    throw fault(at, "the number exceeds 64 bits");
  }
}

/** A call, or the macro with that name. */
function call(of: Node | null, name: string, args: Node[], at: number): Node {
  if (name === "has" && of === null) {
    const [field] = args;
    if (args.length !== 1 || field?.kind !== "field") throw fault(at, "has requires a field, as in has(a.b)");
    return { kind: "has", of: field.of, name: field.name, at };
  }
  return (isMacro(name) && loop(name, of ? [of, ...args] : args, at)) || { kind: "call", of, name, args, at };
}

/** Null for a call of a function with the macro's name, such as `sortBy(list, "name")`. */
function loop(macro: Macro, [list, ...rest]: Node[], at: number): Node | null {
  for (const [count, args] of MACROS[macro]) {
    const names = rest.slice(0, count).flatMap((node) => (node.kind === "name" ? [node.name] : []));
    if (list === undefined || names.length < count || rest.length !== count + args) continue;
    if (new Set(names).size < count) throw fault(at, `${macro} requires two different names`);
    return { kind: "loop", macro, list, names, args: rest.slice(count), at };
  }
  if (macro === "sortBy" || macro === "groupBy" || macro === "distinctBy") return null;
  throw fault(at, `${macro} requires a name first, as in list.${macro}(x, …)`);
}

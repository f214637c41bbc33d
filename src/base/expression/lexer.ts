import { ExpressionError } from "./fault.ts";
import type { Value } from "./value.ts";

export interface Token {
  kind: "operator" | "name" | "value" | "end";
  text: string;
  value: Value;
  /** Position in the text, in characters. */
  at: number;
  end: number;
}

const SPACE = /(?:\s+|\/\/[^\n]*)*/y;
const NAME = /[\p{L}_][\p{L}\p{N}_]*/uy;
const QUOTED_NAME = /`([A-Za-z0-9_.\-/ ]+)`/y;
const NUMBER = /0[xX][0-9a-fA-F]+u?|(?:\d+\.\d+|\d+(?=[eE])|\.\d+)(?:[eE][+-]?\d+)?|\d+[uU]?/y;
const QUOTE = /([rR]?[bB]?|[bB]?[rR]?)("""|'''|"|')/y;
/** Longer operators first. */
const OPERATORS = /\?\?|\|\||&&|==|!=|<=|>=|[<>+\-*/%!?:,.()[\]{}]/y;

/** Splits a text into tokens. */
export class Lexer {
  token: Token;

  constructor(
    private readonly text: string,
    from: number,
  ) {
    this.token = this.read(from, "");
  }

  /** The current token. Advances to the next one. */
  next(): Token {
    const { token } = this;
    this.token = this.read(token.end, token.text);
    return token;
  }

  /** Makes the token at a position the current one. */
  goTo(at: number): void {
    this.token = this.read(at, "");
  }

  private match(pattern: RegExp, at: number): RegExpExecArray | null {
    pattern.lastIndex = at;
    return pattern.exec(this.text);
  }

  private read(from: number, previous: string): Token {
    const at = from + (this.match(SPACE, from)?.[0].length ?? 0);
    if (at >= this.text.length) return { kind: "end", text: "", value: null, at, end: at };
    const quote = this.match(QUOTE, at);
    if (quote) return this.quoted(quote, at);
    const number = this.match(NUMBER, at)?.[0];
    if (number)
      return { kind: "value", text: number, value: readNumber(number, at), at, end: at + number.length };
    const name = this.match(NAME, at)?.[0];
    if (name) return { kind: "name", text: name, value: null, at, end: at + name.length };
    const odd = previous === "." ? this.match(QUOTED_NAME, at) : null;
    if (odd) return { kind: "name", text: odd[1] ?? "", value: null, at, end: at + odd[0].length };
    const operator = this.match(OPERATORS, at)?.[0];
    if (operator) return { kind: "operator", text: operator, value: null, at, end: at + operator.length };
    throw new ExpressionError("syntax", `unexpected ${JSON.stringify(this.text.charAt(at))}`, at);
  }

  private quoted([whole, prefix = "", quote = ""]: RegExpExecArray, at: number): Token {
    const isRaw = /r/i.test(prefix);
    const content = new Content(/b/i.test(prefix));
    let i = at + whole.length;
    while (!this.text.startsWith(quote, i)) {
      const code = this.text.codePointAt(i);
      if (code === undefined || (quote.length === 1 && (code === 0x0a || code === 0x0d)))
        throw new ExpressionError("syntax", "the string isn't closed", at);
      if (code === 0x5c && !isRaw) i += this.escape(i, content);
      else {
        content.put(code);
        i += code > 0xffff ? 2 : 1;
      }
    }
    const end = i + quote.length;
    return { kind: "value", text: this.text.slice(at, end), value: content.value(), at, end };
  }

  /** Reads the escape sequence at `at`. Returns its length. */
  private escape(at: number, content: Content): number {
    const letter = this.text.charAt(at + 1);
    const simple = letter === "" ? -1 : SIMPLE.indexOf(letter);
    if (simple >= 0) {
      content.put(MEANT.charCodeAt(simple));
      return 2;
    }
    const octal = /^[0-3][0-7]{2}$/.exec(this.text.slice(at + 1, at + 4))?.[0];
    if (octal) {
      content.putByte(Number.parseInt(octal, 8));
      return 4;
    }
    const length = HEX_LENGTHS[letter];
    const hex = this.text.slice(at + 2, at + 2 + (length ?? 0));
    if (length === undefined || (content.isBytes && /u/i.test(letter)))
      throw new ExpressionError("syntax", `unknown escape \\${letter}`, at);
    if (hex.length !== length || !/^[0-9a-fA-F]+$/.test(hex))
      throw new ExpressionError("syntax", "incomplete escape", at);
    const code = Number.parseInt(hex, 16);
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
      throw new ExpressionError("syntax", "invalid character", at);
    if (length === 2) content.putByte(code);
    else content.put(code);
    return 2 + length;
  }
}

const SIMPLE = "abfnrtv\\?\"'`";
const MEANT = "\x07\b\f\n\r\t\v\\?\"'`";
const HEX_LENGTHS: Readonly<Record<string, number>> = { x: 2, X: 2, u: 4, U: 8 };

const UTF8 = new TextEncoder();

/** Content of a quoted text or bytes literal. */
class Content {
  private text = "";
  private readonly bytes: number[] = [];

  constructor(readonly isBytes: boolean) {}

  put(code: number): void {
    const character = String.fromCodePoint(code);
    if (this.isBytes) this.bytes.push(...UTF8.encode(character));
    else this.text += character;
  }

  /** Appends a byte, or in a text the character with that number. */
  putByte(code: number): void {
    if (this.isBytes) this.bytes.push(code);
    else this.put(code);
  }

  value(): Value {
    return this.isBytes ? Uint8Array.from(this.bytes) : this.text;
  }
}

/** The range is checked where the sign is known. */
function readNumber(text: string, at: number): Value {
  if (/^0x/i.test(text) || /^\d+$/.test(text)) {
    if (/u$/i.test(text)) throw unsigned(at);
    return BigInt(text);
  }
  if (/u$/i.test(text)) throw unsigned(at);
  return Number(text);
}

const unsigned = (at: number) =>
  new ExpressionError("syntax", "unsigned numbers aren't supported. Omit the u", at);

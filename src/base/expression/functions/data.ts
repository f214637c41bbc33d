import { createHash, createHmac } from "node:crypto";
import { parseLossless } from "../../json-numbers.ts";
import { type RepeatedKey, repeatedKeys } from "../../repeated-keys.ts";
import { toJson } from "../json.ts";
import type { Value } from "../value.ts";
import { bytesOf, type Definitions, fail, textOf, wellFormedOf, wholeOf } from "./contract.ts";

const ALGORITHMS = ["sha256", "sha1", "sha512"];

function algorithmOf(value: Value | undefined): string {
  const name = value === undefined ? "sha256" : textOf(value);
  return ALGORITHMS.includes(name) ? name : fail(`unknown algorithm ${name}. Use ${ALGORITHMS.join(", ")}`);
}

/** Decodes base64 of either alphabet, with or without padding. */
function decoded(text: string): Uint8Array {
  const plain = text.replaceAll("-", "+").replaceAll("_", "/");
  try {
    return Uint8Array.fromBase64(plain);
  } catch {
    return fail("the text is not base64");
  }
}

/** Parses JSON, and returns the first key that an object in it has twice. */
function read(text: string): { value: Value; repeated: RepeatedKey | undefined } {
  try {
    const value = parseLossless(text) as Value;
    return { value, repeated: repeatedKeys(text, value)[0] };
  } catch (error) {
    return fail(`the text is not JSON: ${(error as Error).message}`);
  }
}

const MAX_INDENT = 10;

export const dataFunctions: Definitions = {
  "json.parse": {
    takes: "text",
    about: "Parses JSON text. A key that an object has twice is an error.",
    examples: [['json.parse("{\\"a\\": [1, 2]}").a', "[1,2]"]],
    call([value], { budget }) {
      const text = textOf(value);
      budget.step(text.length >> 1);
      budget.make(text.length);
      const { value: parsed, repeated } = read(text);
      return repeated ? fail(`duplicate key ${JSON.stringify(repeated.path.slice(0, 100))}`) : parsed;
    },
  },
  "json.text": {
    takes: "value, indent?",
    about: "Formats a value as JSON, on one line or indented.",
    examples: [['json.text({"a": [1, null]})', '"{\\"a\\":[1,null]}"']],
    call([value = null, indent], { budget }) {
      const spaces = indent === undefined ? 0 : wholeOf(indent);
      if (spaces < 0 || spaces > MAX_INDENT) fail(`the indent must be from 0 to ${MAX_INDENT}`);
      const text = JSON.stringify(toJson(value, budget), null, spaces);
      budget.make(text.length);
      return text;
    },
  },
  "url.encode": {
    takes: "text",
    about: "Percent-encodes text as a URL component.",
    examples: [['url.encode("a b/c&d")', '"a%20b%2Fc%26d"']],
    call([value], { budget }) {
      const text = wellFormedOf(value);
      budget.make(3 * text.length);
      return encodeURIComponent(text);
    },
  },
  "base64.encode": {
    takes: "text or bytes",
    about: "Encodes bytes or UTF-8 text as base64.",
    examples: [['base64.encode("hi")', '"aGk="']],
    call([value], { budget }) {
      const bytes = bytesOf(value);
      budget.make(2 * bytes.length);
      return Buffer.from(bytes).toString("base64");
    },
  },
  "base64.decode": {
    takes: "text",
    about: "Decodes base64 to bytes. `string(…)` converts them to text.",
    examples: [['string(base64.decode("aGk="))', '"hi"']],
    call([value], { budget }) {
      const text = textOf(value);
      budget.make(text.length);
      return decoded(text);
    },
  },
  "hash.sha256": {
    takes: "text or bytes",
    about: "SHA-256 hash, in hexadecimal.",
    examples: [['hash.sha256("abc").substring(0, 8)', '"ba7816bf"']],
    call: ([value]) => createHash("sha256").update(bytesOf(value)).digest("hex"),
  },
  "hash.hmac": {
    takes: "key, text or bytes, algorithm?",
    about: 'HMAC with a key, in hexadecimal. The algorithm is "sha256" (default), "sha1" or "sha512".',
    examples: [['hash.hmac("key", "abc").substring(0, 8)', '"9c196e32"']],
    call: ([key, value, algorithm]) =>
      createHmac(algorithmOf(algorithm), bytesOf(key)).update(bytesOf(value)).digest("hex"),
  },
  uuid: {
    takes: "",
    about: "A UUID, different for each use and each run, and the same in each attempt of a step.",
    examples: [["size(uuid())", "36"]],
    call: (_, { nextUuid }) => nextUuid(),
  },
};

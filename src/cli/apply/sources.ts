import { existsSync, lstatSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Document, LineCounter, YAMLError } from "yaml";
import { ConfigError } from "../../base/config-error.ts";
import { codeOf } from "../../base/disk.ts";
import { fileReason } from "../../base/file-error.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { isBeyondDoubles } from "../../base/json-numbers.ts";
import { storedNumber } from "../../base/parameter-numbers.ts";
import type { Host } from "../host.ts";
import type { Path } from "./text.ts";

/** A few lines of YAML can expand beyond the memory. */
const MAX_ALIASES = 100;
/** Maximum nesting of directories. */
const MAX_DEPTH = 20;

/** A document of a file. */
export interface Source {
  root: JsonObject;
  /** The directory for relative paths in it. */
  directory: string;
  /** False for a file that was found in a directory. */
  isNamed: boolean;
  file: string;
  /** File and line of the key or value at a path, or of its nearest parent. */
  at(path: Path): string;
}

interface Text {
  name: string;
  text: string;
  directory: string;
  isNamed: boolean;
}

/**
 * Reads the documents of files, of directories including subdirectories, and of standard input for `-`.
 * Errors in a document are added to `faults`. Throws `ConfigError` for what can't be read at all.
 */
export async function readSources(host: Host, paths: readonly string[], faults: string[]): Promise<Source[]> {
  const sources: Source[] = [];
  const named = new Set(paths.map((path) => resolve(path)));
  const seen = new Set<string>();
  for (const path of paths) {
    const input = { name: "standard input", directory: ".", isNamed: true };
    const texts = path === "-" ? [{ ...input, text: await host.stdin() }] : textsAt(path);
    for (const one of texts) {
      const place = resolve(one.name);
      // A file that is also listed explicitly is read then, not with its directory.
      if (seen.has(place) || (!one.isNamed && named.has(place))) continue;
      seen.add(place);
      sources.push(...(await documentsIn(one, faults)));
    }
  }
  return sources;
}

function textsAt(path: string): Text[] {
  const read = (name: string, isNamed: boolean) => {
    const text = readFileSync(name, "utf8");
    return { name, text, directory: dirname(name), isNamed };
  };
  try {
    if (!existsSync(path) || !statSync(path).isDirectory()) return [read(path, true)];
    const names = filesBelow(path, 0);
    if (names.length === 0) throw new ConfigError(`No .yaml, .yml or .json files in ${path}.`);
    return names.map((name) => read(name, false));
  } catch (cause) {
    if (cause instanceof ConfigError) throw cause;
    const where = cause instanceof Error && "path" in cause ? String(cause.path) : path; // one of its files
    const isLink = lstatSync(where, { throwIfNoEntry: false })?.isSymbolicLink() === true;
    const reason = codeOf(cause) === "ENOENT" && isLink ? "the symbolic link is broken" : fileReason(cause);
    throw new ConfigError(`Couldn't read ${where}: ${reason}.`, { cause });
  }
}

/** Configuration files in a directory and its subdirectories, except hidden ones, by name. */
function filesBelow(directory: string, depth: number): string[] {
  if (depth > MAX_DEPTH) throw new ConfigError(`${directory} is nested more than ${MAX_DEPTH} levels deep.`);
  return readdirSync(directory)
    .filter((name) => !name.startsWith(".") && name !== "node_modules")
    .sort()
    .flatMap((name) => {
      const path = join(directory, name);
      if (statSync(path).isDirectory()) return filesBelow(path, depth + 1);
      return /\.(ya?ml|json)$/.test(name) && !name.endsWith(".schema.json") ? [path] : [];
    });
}

async function documentsIn({ name, text, ...rest }: Text, faults: string[]): Promise<Source[]> {
  const { isAlias, isMap, isPair, isScalar, isSeq, LineCounter, parseAllDocuments, visit } = await import(
    "yaml"
  );
  const lineCounter = new LineCounter();
  const options = {
    version: "1.2",
    uniqueKeys: true,
    strict: true,
    stringKeys: true,
    merge: true,
    prettyErrors: false,
  } as const;
  const found = parseAllDocuments(text, { ...options, lineCounter });
  const documents: readonly Document[] = Array.isArray(found) ? found : [];
  const at = (line: number) => `${name}:${line}`;
  return documents.flatMap((document): Source[] => {
    const [problem] = [...document.errors, ...document.warnings].sort((a, b) => a.pos[0] - b.pos[0]);
    if (problem) {
      // Later problems are mostly consequences of the first.
      const { line } = lineCounter.linePos(problem.pos[0]);
      faults.push(`${at(line)}: ${sentenceOf(problem, text.split("\n")[line - 1] ?? "")}`);
      return [];
    }
    const first = lineCounter.linePos(document.contents?.range?.[0] ?? 0).line;
    const resolved = (node: unknown) => (isAlias(node) ? node.resolve(document) : node);
    const isMergeable = (node: unknown) => {
      const source = resolved(node);
      return isMap(source) || (isSeq(source) && source.items.every((item) => isMap(resolved(item))));
    };
    const before = faults.length;
    const fault = (node: YamlNode, message: string) =>
      void faults.push(`${at(lineCounter.linePos(node.range?.[0] ?? 0).line)}: ${message}`);
    visit(document, {
      Scalar(_, node, path) {
        if (typeof node.value !== "number") return;
        if (!/\d/.test(node.source ?? "")) return fault(node as YamlNode, noNumber(node.source));
        node.value = keptNumber({ value: node.value, source: node.source });
        if (typeof node.value !== "string") return;
        const keys = path.flatMap((each) =>
          isPair(each) && isScalar(each.key) ? [String(each.key.value)] : [],
        );
        const stored = storedNumber(node.value, keys);
        if (!isObject(stored)) return;
        return Object.assign(document.createNode(stored), node.anchor ? { anchor: node.anchor } : {});
      },
      Pair(_, { key, value }) {
        if (isScalar(key) && key.type === "PLAIN" && key.source === "<<" && !isMergeable(value))
          fault(key as YamlNode, NO_MERGE);
      },
    });
    if (faults.length > before) return [];
    const value = contentOf(document);
    if (value === undefined) faults.push(`${at(first)}: ${TOO_MANY_ALIASES}`);
    if (value === undefined || value === null) return []; // only comments
    if (!isObject(value)) {
      faults.push(`${at(first)}: A file must contain sections, such as connections: and actions:.`);
      return [];
    }
    const place = (path: Path) => at(lineOf(document, lineCounter, path) ?? first);
    return [{ root: value, file: name, ...rest, at: place }];
  });
}

/** Returns the message for a YAML error, and how to fix the most common mistakes. */
function sentenceOf({ code, message }: YAMLError, line: string): string {
  const bare = /[{,].*[\s:](\$\{[^{}"']*\})/.exec(line)?.[1];
  if (code === "UNEXPECTED_TOKEN" && bare !== undefined)
    return `Put quotes around ${bare} within braces: "${bare}".`;
  if (code === "NON_STRING_KEY")
    return 'A key must be text. Put quotes around a template, such as "{{payload.id}}".';
  const advice = LAYOUT.has(code)
    ? ' Check the indentation here and above, and put quotes around text with ": " in it.'
    : "";
  return `${message.replace(/\.?$/, ".")}${advice}`;
}

const LAYOUT: ReadonlySet<YAMLError["code"]> = new Set([
  "BAD_INDENT",
  "BLOCK_AS_IMPLICIT_KEY",
  "BLOCK_IN_FLOW",
  "MISSING_CHAR",
  "MULTILINE_IMPLICIT_KEY",
]);

/** A number as the server reads it from JSON: one beyond doubles becomes text. */
function keptNumber({ value, source = "" }: { value: number; source?: string }): number | string {
  if (/^0[xo]/.test(source)) return Number.isSafeInteger(value) ? value : String(BigInt(source));
  const digits = source.replace(/^[+]/, "").replace(/^(-?)0*(?=[.\d])/, "$1");
  const number = digits.replace(/^(-?)(?=[.])/, (sign) => `${sign}0`);
  return isBeyondDoubles(number) ? number : value;
}

const noNumber = (source = ""): string =>
  `${source} isn't a number that JSON has. Put quotes around it for text.`;

const NO_MERGE = "A merge key (<<) needs an object, or a list of objects.";

const TOO_MANY_ALIASES = `The aliases unfold to too much. Use at most ${MAX_ALIASES}, none within its own anchor.`;

/** Content of a document. Undefined if its aliases expand too far. */
function contentOf(document: Document): Json | undefined {
  try {
    return JSON.parse(JSON.stringify(document.toJS({ maxAliasCount: MAX_ALIASES })) ?? "null");
  } catch (error) {
    if (error instanceof ReferenceError || error instanceof TypeError) return undefined;
    throw error;
  }
}

/** Line of the key or value at a path, or of its nearest parent. */
function lineOf(document: Document, lines: LineCounter, path: Path): number | null {
  for (let length = path.length; length > 0; length--) {
    const parent = document.getIn(path.slice(0, length - 1), true) as { items?: unknown[] } | undefined;
    const step = path[length - 1];
    const found = parent?.items?.map(rangeIn).find(({ key }, index) => key === step || index === step);
    if (found?.start !== undefined && (typeof step === "number" || found.key === step))
      return lines.linePos(found.start).line;
  }
  return null;
}

interface YamlNode {
  value?: unknown;
  range?: [number, number, number];
  key?: YamlNode;
}

function rangeIn(item: unknown): { key: unknown; start: number | undefined } {
  const node = item as YamlNode;
  return node.key === undefined
    ? { key: undefined, start: node.range?.[0] }
    : { key: node.key.value, start: node.key.range?.[0] };
}

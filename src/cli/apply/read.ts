import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Document, LineCounter } from "yaml";
import { ConfigError } from "../../base/config-error.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { proofFieldOf } from "../../base/sender-proof.ts";
import type { Host } from "../host.ts";
import { completed, itemFields, KINDS, type Kind, UNSEEN } from "./kinds.ts";
import { escaped, mapTexts, type Noun, type Path, placeholderIn } from "./text.ts";
import { FORMAT } from "./write.ts";

/** A few lines of YAML can unfold to more than memory holds. */
const MAX_ALIASES = 100;

/** A thing as files want it. */
export interface Wanted {
  noun: Noun;
  key: string;
  /** All fields of its kind; what the environment has stands in it, escaped. */
  body: JsonObject;
  /** File and line. */
  at: string;
  /** Where the environment's values stand, and where it has none. */
  given: Path[];
  unset: { variable: string; path: Path }[];
}

export interface Files {
  wanted: Wanted[];
  /** The sorts that have a section, also an empty one. */
  nouns: Set<Noun>;
  /** Each with its file and line. */
  faults: string[];
}

interface Source {
  name: string;
  text: string;
}

/** Reads what files want. Throws `ConfigError` for a file that can't be read at all. */
export async function readFiles(host: Host, path: string): Promise<Files> {
  const files: Files = { wanted: [], nouns: new Set(), faults: [] };
  const sources = path === "-" ? [{ name: "standard input", text: await host.stdin() }] : sourcesAt(path);
  for (const source of sources) await readSource(source, files, host.env ?? {});
  const seen = new Map<string, string>();
  for (const { noun, key, at } of files.wanted) {
    const other = seen.get(`${noun}:${key}`);
    if (other !== undefined) files.faults.push(`${at}: Duplicate ${noun} ${key}, also defined in ${other}.`);
    seen.set(`${noun}:${key}`, at);
  }
  return files;
}

function sourcesAt(path: string): Source[] {
  try {
    if (!existsSync(path) || !statSync(path).isDirectory())
      return [{ name: path, text: readFileSync(path, "utf8") }];
    const names = readdirSync(path).filter((name) => /\.ya?ml$/.test(name));
    if (names.length === 0) throw new ConfigError(`No .yaml files in ${path}.`);
    return names.sort().map((name) => ({
      name: join(path, name),
      text: readFileSync(join(path, name), "utf8"),
    }));
  } catch (cause) {
    if (cause instanceof ConfigError) throw cause;
    const code = cause instanceof Error && "code" in cause ? String(cause.code) : "not a file";
    throw new ConfigError(`Couldn't read ${path} (${code}).`, { cause });
  }
}

async function readSource(source: Source, files: Files, env: NonNullable<Host["env"]>): Promise<void> {
  const { LineCounter, parseDocument } = await import("yaml");
  const lines = new LineCounter();
  const options = { version: "1.2", uniqueKeys: true, strict: true, prettyErrors: false } as const;
  const document = parseDocument(source.text, { ...options, lineCounter: lines });
  const at = (line: number) => `${source.name}:${line}`;
  const problems = [...document.errors, ...document.warnings];
  for (const { pos, message } of problems) files.faults.push(`${at(lines.linePos(pos[0]).line)}: ${message}`);
  if (problems.length > 0) return;
  const root: unknown = JSON.parse(JSON.stringify(document.toJS({ maxAliasCount: MAX_ALIASES })) ?? "null");
  if (root === null) return; // a file of comments wants nothing
  const fault = (path: Path, message: string) => {
    files.faults.push(`${at(lineOf(document, lines, path))}: ${message}`);
  };
  if (!isObject(root)) return fault([], "A file must contain sections, such as connections: and actions:.");
  if (root.weir !== FORMAT) fault(["weir"], `The file must start with weir: ${FORMAT}.`);
  for (const [section, things] of Object.entries(root)) {
    if (section === "weir") continue;
    const kind = KINDS.find((one) => one.section === section);
    if (!kind)
      fault([section], `Unknown section ${section}. Use ${KINDS.map((one) => one.section).join(", ")}.`);
    else if (!Array.isArray(things ?? [])) fault([section], `${section} must be a list.`);
    else {
      files.nouns.add(kind.noun);
      for (const [index, thing] of ((things ?? []) as Json[]).entries()) {
        const path = [section, index];
        const wanted = wantedOf(kind, thing, (inner, message) => fault([...path, ...inner], message), env);
        if (wanted) files.wanted.push({ ...wanted, at: at(lineOf(document, lines, path)) });
      }
    }
  }
}

/** The line of the key or value at a path, or of what is nearest above it. */
function lineOf(document: Document, lines: LineCounter, path: Path): number {
  for (let length = path.length; length > 0; length--) {
    const parent = document.getIn(path.slice(0, length - 1), true) as { items?: unknown[] } | undefined;
    const step = path[length - 1];
    const found = parent?.items?.map(rangeIn).find(({ key }, index) => key === step || index === step);
    if (found?.start !== undefined && (typeof step === "number" || found.key === step))
      return lines.linePos(found.start).line;
  }
  return 1;
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

const SHAPES = {
  text: { fits: (value: Json) => typeof value === "string", says: "a string" },
  flag: { fits: (value: Json) => typeof value === "boolean", says: "true or false" },
  number: { fits: (value: Json) => typeof value === "number", says: "a number" },
  object: { fits: (value: Json) => isObject(value), says: "an object" },
  list: { fits: (value: Json) => Array.isArray(value), says: "a list" },
} as const;

function wantedOf(
  kind: Kind,
  thing: Json,
  fault: (path: Path, message: string) => void,
  env: NonNullable<Host["env"]>,
): Omit<Wanted, "at"> | null {
  if (!isObject(thing)) {
    fault([], `${aNoun(kind)} must be an object with fields such as ${kind.key}.`);
    return null;
  }
  const { [kind.key]: key, ...body } = thing;
  let isWhole = true;
  const tell = (path: Path, message: string) => {
    isWhole = false;
    fault(path, message);
  };
  if (typeof key !== "string" || key === "") tell([kind.key], `${aNoun(kind)} requires ${kind.key}.`);
  for (const [name, value] of Object.entries(body)) {
    const field = kind.fields[name];
    if (!field)
      tell([name], `Unknown field ${name} of ${kind.noun}. Use ${Object.keys(kind.fields).join(", ")}.`);
    else if (value !== null && !SHAPES[field.type].fits(value))
      tell([name], `${name} of ${kind.noun} ${key} must be ${SHAPES[field.type].says}.`);
  }
  for (const [name, { fallback }] of Object.entries(kind.fields))
    if (fallback === undefined && (body[name] ?? null) === null)
      tell([name], `${aNoun(kind)} requires the field ${name}.`);
  tellProof(kind, body, tell);
  for (const name of ["endpoints", "tools"]) tellItems(kind, body, name, tell);
  if (!isWhole) return null;
  const given: Path[] = [];
  const unset: Wanted["unset"] = [];
  const filled = mapTexts(completed(kind, body), (text, path) => {
    const found = placeholderIn(text);
    if (found === null || "noun" in found) {
      if (kind.noun === "connection" && found === null && /(^|[^$])\$\{[A-Za-z_]\w*\}/.test(text))
        tell(path, `A variable must be the whole value. Put all of ${path.join(".")} in one variable.`);
      return text;
    }
    if ("unknown" in found) {
      tell(
        path,
        `\${${found.unknown}} is not a valid variable or reference. Write $$ for a literal dollar sign.`,
      );
      return text;
    }
    const value = env[found.variable];
    if (value === undefined || value === "") unset.push({ variable: found.variable, path });
    else given.push(path);
    return value === undefined || value === "" ? text : escaped(value);
  }) as JsonObject;
  return isWhole ? { noun: kind.noun, key: String(key), body: filled, given, unset } : null;
}

const aNoun = ({ noun }: Kind) => `${/^a/.test(noun) ? "An" : "A"} ${noun}`;

/** What a webhook's sender proves itself with is a secret as others are: a plan could not compare it within the config. */
function tellProof(kind: Kind, body: JsonObject, tell: (path: Path, message: string) => void): void {
  const { auth } =
    kind.noun === "automation" && isObject(body.config ?? null) ? (body.config as JsonObject) : {};
  const field = proofFieldOf(auth);
  if (field !== null && isObject(auth) && field in auth)
    tell(["config", "auth", field], `Put the ${field} in the automation's secret field, next to config.`);
}

function tellItems(
  kind: Kind,
  body: JsonObject,
  field: string,
  tell: (path: Path, message: string) => void,
): void {
  const known = itemFields(field);
  const items = body[field];
  if (kind.noun !== "api" || known === null || !Array.isArray(items)) return;
  for (const [index, item] of items.entries()) {
    if (!isObject(item)) tell([field, index], `Items of ${field} must be objects with fields such as name.`);
    else
      for (const name of Object.keys(item))
        if (!known.includes(name))
          tell([field, index, name], `Unknown field ${name} in ${field}. Use ${known.join(", ")}.`);
  }
}

export const isUnseen = (path: Path): boolean => UNSEEN.has(String(path[0]));

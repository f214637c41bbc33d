import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { fileReason } from "../../base/file-error.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { isSecretKey, MASK } from "../../base/mask.ts";
import { escaped } from "../../base/placeholder.ts";
import { proofFieldOf } from "../../base/sender-proof.ts";
import type { Host } from "../host.ts";
import { openTypes, type Types } from "./field-types.ts";
import { completed, itemFields, KINDS, type Kind, UNSEEN } from "./kinds.ts";
import { readSources, type Source } from "./sources.ts";
import {
  filledWithin,
  mapTexts,
  type Noun,
  numbered,
  type Path,
  placeholderIn,
  shownKey,
  unescaped,
  versionKey,
  withVariables,
} from "./text.ts";
import { openValues, type Values } from "./values.ts";
import { FORMAT } from "./write.ts";

/** A resource as described by files. */
export interface Wanted {
  noun: Noun;
  key: string;
  /** The key without secrets. */
  shown: string;
  /** All fields of its kind, with placeholders replaced by escaped values. */
  body: JsonObject;
  /** File and line. */
  at: string;
  /** File and line of a path in it. */
  place(path: Path): string;
  /** Paths of values that must not be shown. */
  hiddenPaths: Path[];
  unset: Unset[];
}

/** A placeholder without a value. */
interface Unset {
  variable: string;
  path: Path;
  /** File and line. */
  at: string;
  /** Sentence that says it isn't set. */
  lack: string;
}

export interface Files {
  wanted: Wanted[];
  /** Nouns with a section, even an empty one. */
  nouns: Set<Noun>;
  /** Each with its file and line. */
  faults: string[];
  /** Warnings, each with its file and line. */
  notes: string[];
}

/** Reads configuration files. Throws `ConfigError` for a file that can't be read at all. */
export async function readFiles(host: Host, paths: readonly string[]): Promise<Files> {
  const files: Files = { wanted: [], nouns: new Set(), faults: [], notes: [] };
  const sources = await readSources(host, paths, files.faults);
  const values = openValues(sources, host.env ?? {}, files.faults);
  const types = openTypes();
  for (const source of sources) await readSource(source, files, values, types);
  const seen = new Map<string, string>();
  for (const wanted of files.wanted) {
    const { noun, key, at } = wanted;
    const other = seen.get(`${noun}:${key}`);
    seen.set(`${noun}:${key}`, at);
    if (other === undefined) continue;
    if (noun === "webhook") {
      wanted.key = numbered(key, (one) => seen.has(`${noun}:${one}`));
      wanted.shown += wanted.key.slice(key.length);
    } else files.faults.push(`${at}: Duplicate ${noun} ${key}, also defined in ${other}.`);
    seen.set(`${noun}:${wanted.key}`, at);
  }
  return files;
}

async function readSource(source: Source, files: Files, values: Values, types: Types): Promise<void> {
  const { root, at } = source;
  const fault = (path: Path, message: string) => void files.faults.push(`${at(path)}: ${message}`);
  if (root.weir !== FORMAT) fault(["weir"], `The file must start with weir: ${FORMAT}.`);
  for (const [section, things] of Object.entries(root)) {
    if (section === "weir" || section === "values") continue;
    const kind = KINDS.find((one) => one.section === section);
    if (!kind)
      fault([section], `Unknown section ${section}. Use ${KINDS.map((one) => one.section).join(", ")}.`);
    else if (!Array.isArray(things ?? [])) fault([section], `${section} must be a list.`);
    else {
      files.nouns.add(kind.noun);
      for (const [index, thing] of ((things ?? []) as Json[]).entries()) {
        const path = [section, index];
        const place = (inner: Path) => at([...path, ...inner]);
        const tell = (inner: Path, message: string) => fault([...path, ...inner], message);
        const wanted = await wantedOf(kind, thing, {
          source,
          values,
          types,
          place,
          tell,
          note: (inner, message) => void files.notes.push(`${place(inner)}: ${message}`),
        });
        if (wanted) files.wanted.push(wanted);
      }
    }
  }
}

const SHAPES = {
  text: { fits: (value: Json) => typeof value === "string", says: "a string" },
  flag: { fits: (value: Json) => typeof value === "boolean", says: "true or false" },
  number: { fits: (value: Json) => typeof value === "number", says: "a number" },
  object: { fits: (value: Json) => isObject(value), says: "an object" },
  list: { fits: (value: Json) => Array.isArray(value), says: "a list" },
} as const;

interface Reading {
  source: Source;
  values: Values;
  types: Types;
  place(path: Path): string;
  tell(path: Path, message: string): void;
  note(path: Path, message: string): void;
}

async function wantedOf(kind: Kind, resource: Json, reading: Reading): Promise<Wanted | null> {
  if (!isObject(resource)) {
    reading.tell([], `${aNoun(kind)} must be an object with fields such as ${kind.key}.`);
    return null;
  }
  let isWhole = true;
  const tell = (path: Path, message: string) => {
    isWhole = false;
    reading.tell(path, message);
  };
  const thing = withSecretApart(kind, resource, tell);
  const filled = await fill(kind, thing, { ...reading, tell });
  const { [kind.key]: key, ...body } = filled.thing;
  if (typeof key !== "string" || key === "") tell([kind.key], `${aNoun(kind)} requires ${kind.key}.`);
  const label = labelOf(kind, String(thing[kind.key]), unescaped(String(key)), reading.values);
  const shown = `${kind.noun} ${label}`;
  const isUnset = (name: string) => filled.unset.some(({ path }) => path.length === 1 && path[0] === name);
  for (const [name, value] of Object.entries(body)) {
    const field = kind.fields[name];
    if (!field)
      tell([name], `Unknown field ${name} of ${kind.noun}. Use ${Object.keys(kind.fields).join(", ")}.`);
    else if (value !== null && !SHAPES[field.type].fits(value) && !isUnset(name))
      tell([name], `${name} of ${shown} must be ${SHAPES[field.type].says}.`);
  }
  for (const [name, { fallback }] of Object.entries(kind.fields))
    if (fallback === undefined && (body[name] ?? null) === null)
      tell([name], `${aNoun(kind)} requires the field ${name}.`);
  tellProof(kind, body, tell);
  for (const name of ["endpoints", "tools"]) tellItems(kind, body, name, tell);
  if (body.draft === true && body.disabled === true)
    tell(["draft"], `${aNoun(kind)} can't be a draft and disabled.`);
  if (!isWhole) return null;
  const { hidden, unset } = filled;
  const whole = completed(kind, body);
  const version = (one: string) =>
    kind.noun === "template" && whole.version !== null ? versionKey(one, whole.version ?? null) : one;
  return {
    noun: kind.noun,
    key: version(unescaped(String(key))),
    shown: version(label),
    body: whole,
    at: reading.place([]),
    place: reading.place,
    hiddenPaths: hidden,
    unset,
  };
}

/** A key without secrets: for a webhook's URL, nothing after its origin that came from the environment. */
function labelOf({ noun }: Kind, text: string, key: string, values: Values): string {
  if (noun !== "webhook") return shownKey(noun, key);
  const shown = shownKey(
    noun,
    withVariables(text, (name) => {
      const { value, isHidden } = values.of(name) ?? { value: MASK, isHidden: true };
      return isHidden ? MASK : String(value);
    }),
  );
  const origin = URL.parse(key)?.origin;
  return URL.canParse(shown) || origin === undefined ? shown : `${origin}/${MASK}`;
}

/** Replaces placeholders and `@FILE`s of a resource by their values. */
async function fill(kind: Kind, thing: JsonObject, { source, values, types, place, tell, note }: Reading) {
  const hidden: Path[] = [];
  const unset: Unset[] = [];
  const lacking = (variable: string, path: Path) =>
    void unset.push({
      variable,
      path,
      at: place(path),
      lack: values.lack(variable),
    });
  const wholes: { path: Path; value: string | number | boolean }[] = [];
  const filled = mapTexts(thing, (text, path) => {
    if (isUnseen(path) && text.startsWith("@")) {
      hidden.push(path);
      return text.startsWith("@@") ? escaped(text.slice(1)) : escaped(secretIn(source, text, path, tell));
    }
    const found = placeholderIn(text);
    if (isUnseen(path) && isSecretKey(String(path.at(-1))) && text !== "" && !text.includes("${"))
      note(path, `The secret ${path.join(".")} is written out. Write \${NAME} or @FILE instead.`);
    if (found !== null && "noun" in found) return text;
    if (found !== null && "unknown" in found) {
      tell(
        path,
        `\${${found.unknown}} is not a valid variable or reference. Write $$ for a literal dollar sign.`,
      );
      return text;
    }
    const valueFor = (name: string) => {
      const known = values.of(name);
      if (known?.isHidden) hidden.push(path);
      return known?.value;
    };
    if (found === null)
      return filledWithin(
        text,
        (name) => valueFor(name)?.toString(),
        (name) => lacking(name, path),
      );
    const value = valueFor(found.variable);
    if (value === undefined) lacking(found.variable, path);
    else wholes.push({ path, value });
    return text;
  }) as JsonObject;
  for (const { path, value } of wholes) {
    const fitting = isUnseen(path) ? String(value) : await types.fitted(kind, thing, path, value);
    put(filled, path, typeof fitting === "string" ? escaped(fitting) : fitting);
  }
  return { thing: filled, hidden, unset };
}

/** Sets the value at a path that exists. */
function put(root: JsonObject, path: Path, value: Json): void {
  let parent: Json = root;
  for (const step of path.slice(0, -1)) parent = (parent as Record<string | number, Json>)[step] as Json;
  (parent as Record<string | number, Json>)[path.at(-1) as string | number] = value;
}

/** Content of the file in `@FILE`, without the trailing line break. */
function secretIn(source: Source, text: string, path: Path, tell: Reading["tell"]): string {
  try {
    return readFileSync(resolve(source.directory, text.slice(1)), "utf8").replace(/\r?\n$/, "");
  } catch (cause) {
    tell(
      path,
      `Couldn't read ${text.slice(1)}: ${fileReason(cause)}. For a value that starts with @, write @@.`,
    );
    return "";
  }
}

/** Moves a secret in an automation's config, where the API accepts it, to the field that is kept out of plans. */
function withSecretApart(kind: Kind, thing: JsonObject, tell: Reading["tell"]): JsonObject {
  const { config } = thing;
  if (kind.noun !== "automation" || !isObject(config) || !("secret" in config)) return thing;
  const { secret, ...rest } = config;
  if ("secret" in thing)
    tell(["config", "secret"], "The secret is given twice. Keep the automation's secret field.");
  return { ...thing, secret: secret ?? null, config: rest };
}

const aNoun = ({ noun }: Kind) => `${/^a/.test(noun) ? "An" : "A"} ${noun}`;

/**
 * Rejects a sender's token or password in the config, where a plan couldn't compare it: it belongs in the secret field.
 */
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

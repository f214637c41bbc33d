import type * as Yaml from "yaml";
import { type Fault, InvalidInput } from "../../base/errors.ts";
import { isObject, type JsonObject } from "../../base/json.ts";
import { read } from "../../base/shape.ts";
import { toolFault } from "./grammar.ts";
import { FrontMatter } from "./wire.ts";

/** The parsed spec. */
export interface Spec {
  /** The front matter, unchanged. */
  frontmatter: JsonObject;
  /** The front matter with its defaults. */
  fields: FrontMatter;
  /** The system prompt. */
  prompt: string;
}

const LOC = ["body", "markdown"] as const;
const MAX_FRONT_CHARACTERS = 64 * 1024;
/** Maximum number of aliases: a few lines of YAML could expand to more than fits in memory. */
const MAX_ALIASES = 100;

const FENCE = /^---[ \t]*$/;

/** Parses a spec, or returns everything that is wrong with it. */
export async function readSpec(markdown: string): Promise<{ spec: Spec | null; faults: Fault[] }> {
  const parts = split(markdown);
  if (parts === null)
    return fail(
      "A spec must start with YAML between two lines of ---, with its name",
      "front_matter_missing",
    );
  if (parts.front.length > MAX_FRONT_CHARACTERS)
    return fail(`The front matter can have at most ${MAX_FRONT_CHARACTERS} characters`, "too_long");
  const parsed = await parseYaml(parts.front);
  if ("fault" in parsed) return fail(parsed.fault, "yaml_invalid");
  const { value: fields, faults } = read(FrontMatter, parsed.value, LOC);
  const messages = faults.map(named);
  if (Array.isArray(parsed.value.tools)) messages.push(...toolFaults(parsed.value.tools));
  if (messages.length > 0) return { spec: null, faults: messages };
  return { spec: { frontmatter: parsed.value, fields, prompt: parts.body.trim() }, faults: [] };
}

/** Parses a spec that was checked before. Throws `InvalidInput` if it is invalid. */
export async function requireSpec(markdown: string): Promise<Spec> {
  const { spec, faults } = await readSpec(markdown);
  if (spec === null) throw new InvalidInput(faults);
  return spec;
}

/** Returns the spec with another name. An invalid one is returned unchanged, so that `readSpec` reports why. */
export async function renameSpec(markdown: string, name: string): Promise<string> {
  const parts = split(markdown);
  if (parts === null || parts.front.length > MAX_FRONT_CHARACTERS) return markdown;
  const yaml = await import("yaml");
  const document = yaml.parseDocument(parts.front, { version: "1.2" });
  if (document.errors.length > 0 || !yaml.isMap(document.contents)) return markdown;
  document.set("name", name);
  return `---\n${document.toString({ lineWidth: 0 }).trimEnd()}\n---\n${parts.body}`;
}

const fail = (msg: string, type: string) => ({ spec: null, faults: [{ loc: LOC, msg, type }] });

/** The message names the field too, since the field is inside a text. */
const named = (fault: Fault): Fault => {
  const field = fault.loc.slice(LOC.length).join(".");
  return field === "" ? fault : { ...fault, msg: `${field}: ${fault.msg}` };
};

function toolFaults(tools: readonly unknown[]): Fault[] {
  const seen = new Set<string>();
  return tools.flatMap((tool, at) => {
    if (typeof tool !== "string") return [];
    const msg = seen.has(tool) ? "Duplicate tool" : toolFault(tool);
    seen.add(tool);
    return msg === null ? [] : [named({ loc: [...LOC, "tools", String(at)], msg, type: "value_error" })];
  });
}

function split(markdown: string): { front: string; body: string } | null {
  const lines = markdown.replace(/^\uFEFF/, "").split(/\r?\n/);
  const isFence = (line: string | undefined) => line !== undefined && FENCE.test(line);
  if (!isFence(lines[0])) return null;
  const end = lines.findIndex((line, at) => at > 0 && isFence(line));
  if (end < 0) return null;
  return { front: lines.slice(1, end).join("\n"), body: lines.slice(end + 1).join("\n") };
}

async function parseYaml(text: string): Promise<{ value: JsonObject } | { fault: string }> {
  const yaml = await import("yaml");
  const fault = (why: string, at: number) => ({
    fault: `Invalid YAML in the front matter${lineNote(text, at)}: ${why}`,
  });
  try {
    const document = yaml.parseDocument(text, {
      version: "1.2",
      uniqueKeys: true,
      strict: true,
      prettyErrors: false,
    });
    const [problem] = [...document.errors, ...document.warnings];
    if (problem) return fault(SAID[problem.code] ?? problem.message, problem.pos[0]);
    const lost = lostIn(yaml, document);
    if (lost) return fault(lost.why, lost.at);
    const value: unknown = JSON.parse(
      JSON.stringify(document.toJS({ maxAliasCount: MAX_ALIASES })) ?? "null",
    );
    if (isObject(value)) return { value };
    return { fault: "The front matter must have fields, such as `name: Analyst`" };
  } catch (error) {
    const why = error instanceof Error ? error.message : "can't be parsed";
    return { fault: `Invalid YAML in the front matter: ${why}` };
  }
}

/** Replaces parser messages that users wouldn't understand. */
const SAID: Readonly<Record<string, string>> = {
  DUPLICATE_KEY: "Duplicate field",
  MULTIPLE_DOCS: "YAML ends here (a line of ...), but text follows",
};

/** Finds YAML features that JSON lacks and that would be lost. Null if there are none. */
function lostIn(yaml: typeof Yaml, document: Yaml.Document): { why: string; at: number } | null {
  let lost: { why: string; at: number } | null = null;
  const anchors = new Set<string>();
  yaml.visit(document, (_, node) => {
    const why = lostBy(yaml, node, anchors);
    if (why === null) return;
    const at = yaml.isPair(node) ? node.key : node;
    lost = { why, at: (yaml.isNode(at) ? at.range?.[0] : undefined) ?? 0 };
    return yaml.visit.BREAK;
  });
  return lost;
}

function lostBy(yaml: typeof Yaml, node: unknown, anchors: Set<string>): string | null {
  if (yaml.isPair(node)) {
    const name = yaml.isScalar(node.key) ? node.key.value : null;
    if (name === "<<") return "Merge keys (<<) aren't supported. Write the fields out";
    return typeof name === "string" || typeof name === "number" ? null : "A field name must be a string";
  }
  if (yaml.isAlias(node)) return anchors.has(node.source) ? null : `Undefined anchor &${node.source}`;
  if ((yaml.isScalar(node) || yaml.isCollection(node)) && node.anchor) anchors.add(node.anchor);
  const isLost = yaml.isScalar(node) && typeof node.value === "number" && !Number.isFinite(node.value);
  return isLost ? `${node.source ?? "This"} is not a valid number` : null;
}

/** Lines are counted from the top of the text, including the front matter's fence. */
const lineNote = (text: string, at: number): string => ` (line ${text.slice(0, at).split("\n").length + 1})`;

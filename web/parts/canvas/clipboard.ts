import { parse, stringify } from "yaml";
import { dependencyOf } from "./config.ts";
import { canDrawSteps, type StepValue } from "./steps-config.ts";

/** A reference that steps store by ID and files by slug: `${connection:shop}`. */
const REFERENCES = [
  ["connectionId", "connection"],
  ["actionId", "action"],
] as const;
export type Noun = (typeof REFERENCES)[number][1];
const REFERENCE = /^\$\{(connection|action):([^}]+)\}$/;

/** Formats steps as `weir apply` reads them below `steps:`. Edges to steps that aren't copied are left out. */
export function toYaml(
  steps: readonly StepValue[],
  slugOf: (noun: Noun, id: string) => string | null,
): string {
  const keys = new Set(steps.map(({ key }) => key));
  const copied = steps.map(({ dependsOn, ...step }) => {
    const inner = (dependsOn ?? []).filter((text) => keys.has(dependencyOf(text).key));
    const named: Record<string, unknown> = { ...step, ...(inner.length > 0 ? { dependsOn: inner } : {}) };
    for (const [field, noun] of REFERENCES) {
      const id = named[field];
      const slug = typeof id === "string" ? slugOf(noun, id) : null;
      if (slug !== null) named[field] = `\${${noun}:${slug}}`;
    }
    return named;
  });
  return stringify({ steps: copied }, { lineWidth: 0, aliasDuplicateObjects: false });
}

interface Pasted {
  readonly steps: readonly StepValue[];
  /** References that don't exist here, such as `connection shop`. */
  readonly unknown: readonly string[];
}

const MOST_CHARACTERS = 2_000_000;

/** Parses steps from YAML or JSON, as a list or below `steps:`, `config:` or `spec:`. Null for other text. */
export function fromText(text: string, idOf: (noun: Noun, slug: string) => string | null): Pasted | null {
  if (text.length > MOST_CHARACTERS || !/\bkey\b/.test(text)) return null;
  let found: unknown;
  try {
    found = parse(text, { maxAliasCount: 20 });
  } catch {
    return null; // other text
  }
  const list = stepsWithin(found);
  if (!list || list.length === 0 || !canDrawSteps({ steps: list })) return null;
  const unknown: string[] = [];
  const steps = (list as StepValue[]).map((step) => {
    const own: Record<string, unknown> = { ...step };
    for (const [field] of REFERENCES) {
      const [, noun, slug = ""] = REFERENCE.exec(String(own[field] ?? "")) ?? [];
      if (noun === undefined) continue;
      const id = idOf(noun as Noun, slug);
      if (id === null) {
        unknown.push(`${noun} ${slug}`);
        delete own[field];
      } else own[field] = id;
    }
    return own as StepValue;
  });
  return { steps, unknown };
}

function stepsWithin(value: unknown, depth = 0): unknown[] | null {
  if (Array.isArray(value)) return value;
  if (typeof value !== "object" || value === null || depth > 2) return null;
  const { steps, config, spec } = value as Record<string, unknown>;
  return Array.isArray(steps) ? steps : (stepsWithin(config, depth + 1) ?? stepsWithin(spec, depth + 1));
}

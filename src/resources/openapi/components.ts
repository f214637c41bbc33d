import type { JsonObject } from "../../base/json.ts";
import { componentNames } from "./names.ts";
import { type Mode, type Refer, toComponent, toSchema } from "./schema.ts";
import { type Draw, TYPED } from "./typed/table.ts";

interface Options {
  /** Path of the schemas in the document. */
  root?: string;
  /** Whether a component is also used in responses. A shape used in both directions has two components. */
  goesOut?(name: string): boolean;
}

/**
 * The shared schemas of one document. `refer` records what is referred to. A shape used in both directions has two
 * components, since requests can omit defaults. The one for requests is named `…Input`.
 */
export function sharedSchemas({ root = "#/components/schemas/", goesOut = () => false }: Options = {}) {
  const names = componentNames();
  const used = new Map<string, () => JsonObject>();
  const note = (name: string, made: () => JsonObject): JsonObject => {
    if (!used.has(name)) used.set(name, made);
    return { $ref: `${root}${name}` };
  };
  const refer: Refer = (schema, mode) => {
    const typed = schema["x-is"];
    if (mode.direction === "in" && typeof typed === "string") return referTyped(typed, schema, mode);
    const known = mode.isFilled ? undefined : names.get(JSON.stringify(schema));
    if (known === undefined) return null;
    const name = mode.direction === "in" && goesOut(known) ? `${known}Input` : known;
    return note(name, () => toComponent(schema, mode, refer));
  };

  function referTyped(name: string, schema: JsonObject, outer: Mode): JsonObject {
    const { mode: fixed, prefix = "Bundle", draw } = TYPED[name] ?? {};
    const mode = { ...outer, ...fixed };
    const isApart = mode.isFilled === true && fixed === undefined;
    return note(isApart ? `${prefix}${name}` : name, () => {
      const drawing = drawingIn(mode);
      return draw ? draw(drawing, schema) : drawing.plain(schema);
    });
  }

  const drawingIn = (mode: Mode): Draw => ({
    mode,
    ref: (name, change = {}) => referTyped(name, {}, { ...mode, ...change }),
    schema: (shape) => toSchema(shape, mode, refer),
    plain: (shape) => toComponent(shape, mode, refer),
  });

  return {
    refer,
    isUsed: (name: string) => used.has(name),
    /** Returns the components referred to so far, and those that they refer to. */
    all(): JsonObject {
      const made = new Map<string, JsonObject>();
      for (const [name, draw] of used) made.set(name, draw());
      return Object.fromEntries([...made].sort(([a], [b]) => (a < b ? -1 : 1)));
    },
  };
}

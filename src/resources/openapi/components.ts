import type { JsonObject } from "../../base/json.ts";
import { componentNames } from "./names.ts";
import { type Direction, type Refer, toComponent } from "./schema.ts";

/**
 * The shared schemas of one document. `refer` notes what is referred to; a shape that goes both ways has two
 * components, as what comes in may leave out its defaults, so the one for requests is called `…Input`.
 */
export function sharedSchemas(goesOut: (name: string) => boolean) {
  const names = componentNames();
  const used = new Map<string, { text: string; direction: Direction }>();
  const refer: Refer = (text, direction) => {
    const known = names.get(text);
    if (known === undefined) return null;
    const name = direction === "in" && goesOut(known) ? `${known}Input` : known;
    used.set(name, { text, direction });
    return { $ref: `#/components/schemas/${name}` };
  };
  return {
    refer,
    isUsed: (name: string) => used.has(name),
    /** The components referred to so far, and what they refer to themselves. */
    all(): JsonObject {
      const made = new Map<string, JsonObject>();
      for (const [name, { text, direction }] of used) made.set(name, toComponent(text, direction, refer));
      return Object.fromEntries([...made].sort(([a], [b]) => (a < b ? -1 : 1)));
    },
  };
}

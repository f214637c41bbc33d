import { useEffect, useMemo, useRef } from "react";
import { readAll, useAll } from "../../data.ts";
import { notify } from "../base/toast.tsx";
import type { Noun } from "../canvas/clipboard.ts";
import type { Actions } from "../canvas/kinds.ts";
import type { StepValue } from "../canvas/steps-config.ts";

type Format = typeof import("../canvas/clipboard.ts");

/** ID of the resource with this slug. Null if there is none. */
async function idOf(noun: Noun, slug: string): Promise<string | null> {
  const found =
    noun === "connection"
      ? await readAll("GET /api/v1/connections", { q: slug }, ({ connections }) => connections)
      : await readAll("GET /api/v1/actions", { q: slug }, ({ actions }) => actions);
  return found.find((each) => each.slug === slug)?.id ?? null;
}

/** Copies and pastes steps as YAML. The code for YAML is loaded in the background. */
export function useClipboard(actions: Actions) {
  const format = useRef<Format | null>(null);
  const { data: connections = [] } = useAll("GET /api/v1/connections", {}, (page) => page.connections);
  const now = useRef({ actions, connections });
  now.current = { actions, connections };
  useEffect(() => {
    void import("../canvas/clipboard.ts").then(
      (module) => {
        format.current = module;
      },
      () => undefined, // then steps are copied as JSON, and pasting reports it
    );
  }, []);
  return useMemo(() => {
    const slugOf = (noun: Noun, id: string) =>
      noun === "action"
        ? (now.current.actions.get(id)?.slug ?? null)
        : (now.current.connections.find((each) => each.id === id)?.slug ?? null);
    return {
      copy: (steps: readonly StepValue[]) =>
        format.current?.toYaml(steps, slugOf) ?? JSON.stringify({ steps }, null, 2),
      paste(text: string, done: (steps: readonly StepValue[], unknown: readonly string[]) => void) {
        const module = format.current;
        const names = module?.fromText(text, () => null)?.unknown;
        if (!module || !names) return false;
        const resolve = async () => {
          const ids = new Map<string, string | null>();
          for (const name of new Set(names)) {
            const [noun = "", slug = ""] = name.split(/ (.*)/s);
            ids.set(name, await idOf(noun as Noun, slug));
          }
          const pasted = module.fromText(text, (noun, slug) => ids.get(`${noun} ${slug}`) ?? null);
          if (pasted) done(pasted.steps, pasted.unknown);
        };
        void resolve().catch((error: unknown) =>
          notify(error instanceof Error ? error.message : String(error), "bad"),
        );
        return true;
      },
    };
  }, []);
}

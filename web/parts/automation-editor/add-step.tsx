import { useQuery } from "@tanstack/react-query";
import { type KeyboardEvent, type ReactNode, useEffect, useId, useRef, useState } from "react";
import { call } from "../../api.ts";
import type { ActionKindInfo } from "../../calls.ts";
import { t } from "../../texts/text.ts";
import { KindTile } from "../base/kind-icons.tsx";
import { Monogram } from "../base/monogram.tsx";
import { freshKey, type StepValue } from "../canvas/steps-config.ts";
import type { Values } from "../form/form.tsx";
import { startValue } from "../form/schema.ts";

const TYPING_MS = 150;
const EACH = 20;

interface Hit {
  id: string;
  group: string;
  name: string;
  about: string;
  icon: ReactNode;
  /** Fields of the step in addition to its key. */
  step: () => Promise<StepValue> | StepValue;
}

interface Props {
  title: string;
  kinds: readonly ActionKindInfo[];
  steps: readonly StepValue[];
  onPick: (step: StepValue) => void;
  onClose: () => void;
}

const holds = (text: string, words: string) =>
  words.split(/\s+/).every((word) => text.toLowerCase().includes(word));

/** Actions, endpoints and templates from the server's search, so that all can be found. */
async function search(q: string, signal: AbortSignal) {
  const query = { ...(q === "" ? {} : { q }), limit: EACH };
  const [actions, items, templates] = await Promise.all([
    call("GET /api/v1/actions", { query: { ...query, sort_by: "name", order: "asc" } }, { signal }),
    call("GET /api/v1/api-catalog/items", { query }, { signal }),
    call(
      "GET /api/v1/templates",
      { query: { ...query, template_type: "action", status: "published", summary: true } },
      { signal },
    ),
  ]);
  return { actions: actions.actions, items: items.items, templates: templates.templates };
}

/** Finds what a new step can be: kinds, actions, endpoints of the API catalog, templates. */
export function AddStep({ title, kinds, steps, onPick, onClose }: Props) {
  const [text, setText] = useState("");
  const [sent, setSent] = useState("");
  const [at, setAt] = useState(0);
  const [problem, setProblem] = useState<string | null>(null);
  const box = useRef<HTMLDialogElement>(null);
  const list = useId();
  useEffect(() => {
    const before = document.activeElement;
    box.current?.showModal();
    return () => {
      if (before instanceof HTMLElement) before.focus({ preventScroll: true });
    };
  }, []);
  useEffect(() => {
    const timer = setTimeout(() => setSent(text.trim()), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const found = useQuery({
    queryKey: ["add step", sent],
    queryFn: ({ signal }) => search(sent, signal),
  });
  const words = text.trim().toLowerCase();
  const hits = [...kindHits(kinds, steps, words), ...(found.data ? serverHits(found.data, steps) : [])];
  const current = Math.min(at, hits.length - 1);
  const pick = async (hit: Hit | undefined) => {
    if (!hit) return;
    try {
      onPick(await hit.step());
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const by = event.key === "ArrowDown" ? 1 : -1;
      setAt((current + by + hits.length) % Math.max(hits.length, 1));
    } else if (event.key === "Enter") {
      event.preventDefault();
      void pick(hits[current]);
    }
  };
  useEffect(() => {
    document.getElementById(`${list}-${current}`)?.scrollIntoView({ block: "nearest" });
  }, [current, list]);
  return (
    <dialog
      ref={box}
      aria-label={title}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => event.target === box.current && onClose()}
      onKeyDown={onKey}
      className="mx-auto mt-[10vh] w-[calc(100vw-2rem)] max-w-xl overflow-hidden rounded-xl border border-strong-line bg-raised shadow-2xl"
    >
      <div className="flex items-center gap-2.5 border-b border-line px-4">
        <input
          role="combobox"
          aria-expanded="true"
          aria-controls={list}
          aria-activedescendant={hits.length > 0 ? `${list}-${current}` : undefined}
          aria-label={t("Search kinds, actions, endpoints and templates")}
          placeholder={title}
          className="h-12 grow bg-transparent outline-none"
          value={text}
          maxLength={255}
          onChange={(event) => {
            setText(event.target.value);
            setAt(0);
          }}
        />
      </div>
      <div id={list} role="listbox" aria-label={t("Steps")} className="max-h-[60vh] overflow-y-auto p-1.5">
        {hits.map((hit, index) => (
          <div key={hit.id} className="contents">
            {hits[index - 1]?.group !== hit.group && (
              <p aria-hidden className="px-2 pt-2 pb-1 text-xs font-medium text-faint">
                {hit.group}
              </p>
            )}
            {/* biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the keyboard */}
            <div
              id={`${list}-${index}`}
              role="option"
              tabIndex={-1}
              aria-selected={index === current}
              onClick={() => void pick(hit)}
              onPointerMove={() => setAt(index)}
              className={`flex min-h-10 cursor-pointer items-center gap-3 rounded-md px-2 py-1 text-sm ${index === current ? "bg-accent-soft" : ""}`}
            >
              {hit.icon}
              <span className="min-w-0 grow">
                <span className="block truncate" dir="auto">
                  {hit.name}
                </span>
                <span className="block truncate text-xs text-soft" dir="auto" title={hit.about}>
                  {hit.about}
                </span>
              </span>
            </div>
          </div>
        ))}
      </div>
      {hits.length === 0 && (
        <p className="px-4 pb-5 text-sm text-soft" role="status">
          {found.isFetching || sent !== text.trim() ? t("Searching…") : t("No results")}
        </p>
      )}
      {(problem ?? found.error) && (
        <p className="px-4 pb-3 text-sm text-bad" role="alert">
          {problem ?? found.error?.message}
        </p>
      )}
    </dialog>
  );
}

const kindHits = (kinds: readonly ActionKindInfo[], steps: readonly StepValue[], words: string): Hit[] =>
  kinds
    .filter(({ kind, title, description }) => holds(`${kind} ${title} ${description ?? ""}`, words))
    .map(({ kind, title, description, definitionSchema }) => ({
      id: `kind:${kind}`,
      group: t("Kinds"),
      name: title,
      about: description ?? "",
      icon: <KindTile kind={kind} />,
      step: () => ({
        key: freshKey(steps, title.toLowerCase()),
        kind,
        definition: startValue(definitionSchema),
      }),
    }));

function serverHits(
  { actions, items, templates }: Awaited<ReturnType<typeof search>>,
  steps: readonly StepValue[],
): Hit[] {
  const ofActions = actions.map(
    ({ id, name, slug, kind }): Hit => ({
      id: `action:${id}`,
      group: t("Actions"),
      name,
      about: slug,
      icon: <KindTile kind={kind} />,
      step: () => ({ key: freshKey(steps, slug), actionId: id }),
    }),
  );
  const ofEndpoints = items.map(
    ({ apiId, apiName, type, name, method, path }): Hit => ({
      id: `api:${apiId}:${name}`,
      group: t("API catalog"),
      name,
      about: type === "http" ? `${apiName} · ${method} ${path}` : t("{apiName} · tool", { apiName }),
      icon: <Monogram name={apiName} of={apiId} />,
      step: () => ({
        key: freshKey(steps, name),
        kind: "http_request",
        name,
        definition: { api: { apiId, [type === "http" ? "endpoint" : "tool"]: name, arguments: {} } },
      }),
    }),
  );
  const ofTemplates = templates.map(
    ({ id, slug, displayName, description, kind }): Hit => ({
      id: `template:${slug}:${id}`,
      group: t("Templates"),
      name: displayName,
      about: description ?? slug,
      icon: <KindTile kind={kind ?? undefined} />,
      step: () => stepOfTemplate(id, freshKey(steps, slug)),
    }),
  );
  return [...ofActions, ...ofEndpoints, ...ofTemplates];
}

const INPUT = /\{\{\s*inputs\.([\w-]+)\s*\}\}/g;

/** Creates a step from a template's action. Inputs get their defaults, or stay as placeholders to fill in. */
async function stepOfTemplate(id: string, key: string): Promise<StepValue> {
  const template = await call("GET /api/v1/templates/{template_id}", { path: { template_id: id } });
  const { kind, inputDefaults } = template;
  const fill = (value: unknown): unknown => {
    if (typeof value === "string")
      return value.replace(INPUT, (whole, name: string) => {
        const own = (inputDefaults as Values | null)?.[name];
        return own === undefined || typeof own === "object" ? whole : String(own);
      });
    if (Array.isArray(value)) return value.map(fill);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, fill(inner)]));
  };
  if (!kind) throw new Error(t("This template names no kind."));
  return { key, kind, name: template.displayName, definition: fill(template.definition) as Values };
}

import { useState } from "react";
import type { Discovery } from "../../calls.ts";
import { t } from "../../texts/text.ts";
import { Tag } from "../base/status.tsx";
import { counted } from "../base/time.tsx";
import { SearchField } from "../table/filters.tsx";

/** An endpoint or a tool in a list. */
export interface Item {
  name: string;
  /** `GET`, for example. Null for a tool. */
  method: string | null;
  /** The path of an endpoint, or the title of a tool. */
  detail: string;
  description: string | null;
  isUnverified: boolean;
}

export const endpointItem = (each: Discovery["endpoints"][number]): Item => ({
  name: each.name,
  method: each.method,
  detail: each.path,
  description: each.description,
  isUnverified: each.unverified,
});

export const toolItem = (each: Omit<Discovery["tools"][number], "definitionHash">): Item => ({
  name: each.upstreamName,
  method: null,
  detail: each.title ?? "",
  description: each.description,
  isUnverified: false,
});

function Method({ method }: { method: string }) {
  return (
    <Tag tone={method === "GET" || method === "HEAD" ? "good" : method === "DELETE" ? "bad" : "warn"}>
      {method}
    </Tag>
  );
}

/** Number of items to show first. */
const AT_ONCE = 100;

interface Props {
  items: readonly Item[];
  picked: ReadonlySet<string>;
  onPick: (picked: ReadonlySet<string>) => void;
  label: string;
}

const has = (item: Item, text: string) =>
  [item.name, item.detail, item.description, item.method].some((each) => each?.toLowerCase().includes(text));

/** A list to select from. All search results can be selected at once. */
export function PickList({ items, picked, onPick, label }: Props) {
  const [search, setSearch] = useState("");
  const [shown, setShown] = useState(AT_ONCE);
  const found = items.filter((item) => has(item, search.trim().toLowerCase()));
  const areAll = found.length > 0 && found.every(({ name }) => picked.has(name));
  const set = (names: readonly string[], isPicked: boolean) => {
    const next = new Set(picked);
    for (const name of names) isPicked ? next.add(name) : next.delete(name);
    onPick(next);
  };
  return (
    <fieldset className="min-w-0 rounded-md border border-line">
      <legend className="sr-only">{label}</legend>
      <div className="flex flex-wrap items-center gap-3 border-b border-line px-3 py-2 text-sm">
        <label className="flex items-center gap-2">
          <input
            type="checkbox"
            checked={areAll}
            onChange={({ target: { checked } }) =>
              set(
                found.map(({ name }) => name),
                checked,
              )
            }
          />
          <span>
            {t("{count} of {total}", { count: counted(picked.size), total: counted(items.length) })}
          </span>
        </label>
        {items.length > 10 && (
          <SearchField label={t("Search the list")} value={search} onChange={setSearch} />
        )}
      </div>
      <ul className="max-h-112 overflow-y-auto">
        {found.slice(0, shown).map((item) => (
          <li key={item.name} className="border-b border-line last:border-0">
            <label className="flex items-start gap-3 px-3 py-2 text-sm hover:bg-sunken/60">
              <input
                type="checkbox"
                className="mt-1"
                checked={picked.has(item.name)}
                onChange={({ target: { checked } }) => set([item.name], checked)}
              />
              <ItemLine item={item} />
            </label>
          </li>
        ))}
        {found.length > shown && (
          <li className="p-2 text-center">
            <button
              type="button"
              className="text-sm text-accent hover:underline"
              onClick={() => setShown(shown + AT_ONCE)}
            >
              {t("Show {count} more", { count: counted(found.length - shown) })}
            </button>
          </li>
        )}
      </ul>
    </fieldset>
  );
}

/** Name, location and description of an endpoint or tool. */
export function ItemLine({ item }: { item: Item }) {
  return (
    <span className="min-w-0 grow">
      <span className="flex flex-wrap items-center gap-x-2">
        <span className="font-medium [overflow-wrap:anywhere]" dir="auto">
          {item.name}
        </span>
        {item.method && <Method method={item.method} />}
        <span className="font-mono text-xs text-soft [overflow-wrap:anywhere]" dir="auto">
          {item.detail}
        </span>
        {item.isUnverified && <Tag tone="warn">{t("Not found in the text")}</Tag>}
      </span>
      {item.description && (
        <span className="line-clamp-2 text-xs text-soft [overflow-wrap:anywhere]" dir="auto">
          {item.description}
        </span>
      )}
    </span>
  );
}

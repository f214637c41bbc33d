import { Trash2 } from "lucide-react";
import { type ReactNode, useState } from "react";
import { Link } from "wouter";
import type { SavedQuery } from "../../calls.ts";
import { useAll, useApi, useChange, useMay } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { IconButton } from "../base/button.tsx";
import { Confirm } from "../base/dialog.tsx";
import { plural } from "../base/plural.ts";
import { columnsOf } from "../base/table-name.ts";
import { When } from "../base/time.tsx";
import { SearchField } from "../table/filters.tsx";
import type { Past } from "./history.ts";

const LIMIT = 100;

interface Props {
  past: readonly Past[];
  onTable: (name: string) => void;
  onSaved: (id: string) => void;
  onPast: (sql: string) => void;
  onClear: () => void;
}

const PARTS = [
  ["tables", t("Tables")],
  ["saved", t("Saved")],
  ["history", t("History")],
] as const;

/** Next to the editor: tables, saved queries and history. */
export function Side({ past, onTable, onSaved, onPast, onClear }: Props) {
  const [part, setPart] = useState<(typeof PARTS)[number][0]>("tables");
  return (
    <section className="card mb-5" aria-label={t("Tables and queries")}>
      <div className="flex border-b border-line px-1">
        {PARTS.map(([id, name]) => (
          <button
            key={id}
            type="button"
            aria-pressed={part === id}
            onClick={() => setPart(id)}
            className={`-mb-px border-b-2 px-2.5 py-2 text-sm ${part === id ? "border-accent font-medium" : "border-transparent text-soft hover:text-ink"}`}
          >
            {name}
          </button>
        ))}
      </div>
      {part === "tables" && <Names onPick={onTable} />}
      {part === "saved" && <Saved onPick={onSaved} />}
      {part === "history" && <History past={past} onPick={onPast} onClear={onClear} />}
    </section>
  );
}

const List = ({ children }: { children: ReactNode }) => (
  <ul className="max-h-[32rem] overflow-y-auto py-1">{children}</ul>
);

const None = ({ children }: { children: ReactNode }) => <p className="p-4 text-sm text-soft">{children}</p>;

/** Maximum number of datasets to browse without a search. */
const FEW = 10;

function Names({ onPick }: { onPick: (name: string) => void }) {
  const [q, setQ] = useState("");
  const found = useApi(
    "GET /api/v1/datasets",
    { query: { ...(q === "" ? {} : { q }), limit: LIMIT } },
    { keep: true },
  );
  const { datasets = [], total = 0 } = found.data ?? {};
  const tables = columnsOf(datasets);
  const names = Object.keys(tables).sort();
  if (names.length === 0 && q === "")
    return (
      <None>
        {found.data ? (
          <>
            {t("No tables yet")}{" "}
            <Link href="/datasets" className="text-accent underline">
              {t("Load data")}
            </Link>
          </>
        ) : (
          (found.error?.message ?? t("Loading…"))
        )}
      </None>
    );
  return (
    <>
      {(total > FEW || q !== "") && (
        <div className="px-2 pt-2">
          <SearchField label={t("Search tables")} value={q} onChange={setQ} />
        </div>
      )}
      <List>
        {names.map((name) => (
          <li key={name}>
            <details className="px-3 py-0.5 text-xs">
              <summary className="truncate font-mono">{name}</summary>
              <div className="pt-1 pb-2 pl-4">
                <button type="button" className="text-accent hover:underline" onClick={() => onPick(name)}>
                  {t("Query this table")}
                </button>
                <ul className="mt-1 font-mono text-soft">
                  {tables[name]?.map((column) => (
                    <li key={column} className="truncate">
                      {column}
                    </li>
                  ))}
                </ul>
              </div>
            </details>
          </li>
        ))}
      </List>
      {names.length === 0 && <None>{t("No results")}</None>}
      {total > datasets.length && (
        <p className="px-3 pb-2 text-xs text-soft">
          {plural(total - datasets.length, {
            one: "# more dataset. Search to find it.",
            other: "# more datasets. Search to find them.",
          })}
        </p>
      )}
    </>
  );
}

function Saved({ onPick }: { onPick: (id: string) => void }) {
  const may = useMay("member");
  const queries = useAll("GET /api/v1/queries", {}, ({ queries: items }) => items);
  const [removing, setRemoving] = useState<SavedQuery | null>(null);
  const remove = useChange("DELETE /api/v1/queries/{query_id}", {
    touches: ["/queries"],
    done: t("Query deleted"),
  });
  const all = queries.data ?? [];
  if (all.length === 0)
    return (
      <None>
        {queries.error ? queries.error.message : queries.data ? t("No saved queries yet") : t("Loading…")}
      </None>
    );
  return (
    <>
      <List>
        {all.map((query) => (
          <li key={query.id} className="flex items-center gap-1 pr-1.5 hover:bg-sunken">
            <button
              type="button"
              className="min-w-0 grow truncate py-1.5 pl-3 text-left text-sm"
              title={query.description ?? query.name}
              onClick={() => onPick(query.id)}
            >
              {query.name}
            </button>
            {may && (
              <IconButton
                icon={Trash2}
                label={t("Delete {name}", { name: query.name })}
                onClick={() => setRemoving(query)}
              />
            )}
          </li>
        ))}
      </List>
      {removing && (
        <Confirm
          title={t("Delete {name}?", { name: removing.name })}
          verb={t("Delete")}
          isBusy={remove.isPending}
          onClose={() => setRemoving(null)}
          onConfirm={() =>
            remove.mutate({ path: { query_id: removing.id } }, { onSettled: () => setRemoving(null) })
          }
        >
          <p>
            {t("This permanently deletes the saved query. A query that a dashboard uses can't be deleted.")}
          </p>
        </Confirm>
      )}
    </>
  );
}

function History({
  past,
  onPick,
  onClear,
}: {
  past: readonly Past[];
  onPick: (sql: string) => void;
  onClear: () => void;
}) {
  if (past.length === 0)
    return <None>{t("No queries yet. Queries that you run appear here, in this browser alone.")}</None>;
  return (
    <>
      <List>
        {past.map(({ sql, at }) => (
          <li key={at}>
            <button
              type="button"
              className="block w-full px-3 py-1.5 text-left text-xs hover:bg-sunken"
              title={sql}
              onClick={() => onPick(sql)}
            >
              <span className="line-clamp-2 font-mono break-all">{sql}</span>
              <span className="text-soft">
                <When at={at} />
              </span>
            </button>
          </li>
        ))}
      </List>
      <button
        type="button"
        className="px-3 pb-2 text-xs text-soft hover:text-ink hover:underline"
        onClick={onClear}
      >
        {t("Clear history")}
      </button>
    </>
  );
}

import { useQueryClient } from "@tanstack/react-query";
import { TriangleAlert } from "lucide-react";
import { useRef, useState } from "react";
import { call } from "../../api.ts";
import { useApi } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { notify } from "../base/toast.tsx";
import type { Values } from "../form/form.tsx";
import { ColumnPick } from "./columns.tsx";
import { addsAllAgain, proposalFor, type Resource } from "./proposals.ts";

const SHOWN = 100;
const FRESH_MS = 60_000;

interface Props {
  connectionId: string;
  value: Values;
  onChange: (value: Values) => void;
}

interface Table {
  schema: string;
  table: string;
  spec: string;
  primaryKey?: readonly string[] | undefined;
}

const resourcesOf = ({ resources }: Values): readonly Resource[] =>
  Array.isArray(resources) ? (resources as Resource[]) : [];

/** Selects tables for an extract from those of its connection, and suggests a key and a cursor for each. */
export default function ExtractTables({ connectionId, value, onChange }: Props) {
  const queries = useQueryClient();
  const [search, setSearch] = useState("");
  const [adding, setAdding] = useState<readonly string[]>([]);
  const now = useRef(value);
  now.current = value;
  const tables = useApi("GET /api/v1/connections/{connection_id}/schema/tables", {
    path: { connection_id: connectionId },
    query: { include_system: false },
  });
  const resources = resourcesOf(value);
  const put = (next: readonly Resource[]) => onChange({ ...now.current, resources: next });
  const all: readonly Table[] = tables.data?.tables ?? [];
  const found = all.filter(({ spec }) => spec.toLowerCase().includes(search.toLowerCase()));
  const add = async (table: Table) => {
    setAdding((before) => [...before, table.spec]);
    const input = {
      path: { connection_id: connectionId },
      query: { schema: table.schema, table: table.table },
    };
    try {
      const { columns } = await queries.fetchQuery({
        queryKey: ["GET /api/v1/connections/{connection_id}/schema/columns", input],
        queryFn: () => call("GET /api/v1/connections/{connection_id}/schema/columns", input),
        staleTime: FRESH_MS,
      });
      put([...resourcesOf(now.current).filter(isNamed), proposalFor(table, columns)]);
    } catch (error) {
      notify(error instanceof Error ? error.message : String(error), "bad");
    }
    setAdding((before) => before.filter((spec) => spec !== table.spec));
  };
  const toggle = (table: Table, isOn: boolean) =>
    isOn ? void add(table) : put(resources.filter(({ spec }) => spec !== table.spec));
  const risky = resources.filter((each) => isNamed(each) && addsAllAgain(each));
  return (
    <section aria-label={t("Tables to read")} className="mb-4 space-y-2">
      {tables.error && (
        <p className="text-xs text-soft">
          {t("Tables can't be listed: {message}", { message: tables.error.message })}
        </p>
      )}
      {all.length > 0 && (
        <div className="rounded-md border border-line">
          <div className="flex items-center gap-2 border-b border-line p-2">
            <input
              type="search"
              aria-label={t("Search tables")}
              placeholder={t("Search tables")}
              className="field"
              value={search}
              onChange={({ target }) => setSearch(target.value)}
            />
          </div>
          <ul className="max-h-64 overflow-y-auto py-1">
            {found.slice(0, SHOWN).map((table) => {
              const resource = resources.find(({ spec }) => spec === table.spec);
              return (
                <li key={table.spec} className="px-3 py-0.5">
                  <label className="flex min-h-7 items-center gap-2 text-sm">
                    <input
                      type="checkbox"
                      className="size-4 accent-accent"
                      checked={resource !== undefined || adding.includes(table.spec)}
                      onChange={({ target }) => toggle(table, target.checked)}
                    />
                    <span className="truncate" dir="auto">
                      {table.spec}
                    </span>
                  </label>
                  {resource && (
                    <ColumnPick
                      connectionId={connectionId}
                      table={table}
                      resource={resource}
                      onChange={(next) =>
                        put(resources.map((each) => (each.spec === table.spec ? next : each)))
                      }
                    />
                  )}
                </li>
              );
            })}
          </ul>
          {found.length > SHOWN && (
            <p className="border-t border-line px-3 py-1.5 text-xs text-soft">
              {t("Shows the first {SHOWN} of {count} tables. Search to find the others.", {
                SHOWN,
                count: found.length,
              })}
            </p>
          )}
        </div>
      )}
      {risky.length > 0 && (
        <p role="status" className="flex gap-2 rounded-md bg-warn-soft px-3 py-2 text-xs text-warn">
          <TriangleAlert size={14} aria-hidden className="mt-0.5 shrink-0" />
          <span>
            {t("Every run adds all rows again: {tables}. Set a cursor field, or choose replace or merge.", {
              tables: risky.map(({ spec, name }) => spec ?? name).join(", "),
            })}
          </span>
        </p>
      )}
    </section>
  );
}

/** An empty row of the form reads nothing. */
const isNamed = ({ spec, name }: Resource) => Boolean(spec ?? name);

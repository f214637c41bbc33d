import { ChevronRight, Table2 } from "lucide-react";
import { useState } from "react";
import { useApi, useMay } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { CopyButton } from "../base/copy.tsx";
import { Empty, Shown } from "../base/page.tsx";
import { counted } from "../base/time.tsx";
import { FilterBar } from "../table/filters.tsx";
import { LoadLink } from "./load-link.tsx";
import { TableRows } from "./remote-preview.tsx";

/** Number of tables to show. The filter finds the others. */
const SHOWN = 300;

/** The tables of a database, each expandable to its columns. */
export function Tables({ connectionId, canLoad }: { connectionId: string; canLoad: boolean }) {
  const may = useMay("member");
  const [search, setSearch] = useState("");
  const [hasSystem, setSystem] = useState(false);
  const tables = useApi("GET /api/v1/connections/{connection_id}/schema/tables", {
    path: { connection_id: connectionId },
    query: { include_system: hasSystem },
  });
  return (
    <div className="card">
      <FilterBar>
        <input
          type="search"
          data-search
          aria-label={t("Search tables")}
          placeholder={t("Search tables")}
          className="field w-60"
          value={search}
          onChange={(event) => setSearch(event.target.value)}
        />
        <label className="flex items-center gap-2 text-sm text-soft">
          <input
            type="checkbox"
            className="accent-accent"
            checked={hasSystem}
            onChange={(event) => setSystem(event.target.checked)}
          />
          {t("System tables")}
        </label>
      </FilterBar>
      <Shown of={tables}>
        {({ tables: all }) => {
          const found = all.filter(({ spec }) => spec.toLowerCase().includes(search.toLowerCase()));
          return found.length === 0 ? (
            <Empty icon={Table2} title={all.length === 0 ? t("No tables found") : t("No tables match")} />
          ) : (
            <>
              <ul>
                {found.slice(0, SHOWN).map(({ schema, table, spec, primaryKey = [] }) => (
                  <RemoteTable
                    key={spec}
                    connectionId={connectionId}
                    schema={schema}
                    table={table}
                    spec={spec}
                    canLoad={canLoad && may}
                    isKeyed={primaryKey.length > 0}
                  />
                ))}
              </ul>
              {found.length > SHOWN && (
                <p className="border-t border-line px-4 py-2 text-xs text-soft">
                  {t("Shows the first {SHOWN} tables. Search to find the others.", { SHOWN: counted(SHOWN) })}
                </p>
              )}
            </>
          );
        }}
      </Shown>
    </div>
  );
}

function RemoteTable({
  connectionId,
  schema,
  table,
  spec,
  canLoad,
  isKeyed,
}: {
  connectionId: string;
  schema: string;
  table: string;
  spec: string;
  canLoad: boolean;
  isKeyed: boolean;
}) {
  const [isOpen, setOpen] = useState(false);
  return (
    <li className="border-t border-line first:border-t-0">
      <div className="flex h-9 items-center gap-2 px-3 text-sm">
        <button
          type="button"
          aria-expanded={isOpen}
          className="flex min-w-0 grow items-center gap-2 text-left"
          onClick={() => setOpen(!isOpen)}
        >
          <ChevronRight
            size={14}
            aria-hidden
            className={`shrink-0 text-faint ${isOpen ? "rotate-90" : ""}`}
          />
          <span className="text-soft">{schema}.</span>
          <span className="-ml-2 truncate font-medium">{table}</span>
        </button>
        {canLoad && <LoadLink connectionId={connectionId} spec={spec} isKeyed={isKeyed} />}
        <CopyButton text={spec} label={t("Copy {spec}", { spec })} />
      </div>
      {isOpen && (
        <>
          <Columns connectionId={connectionId} schema={schema} table={table} />
          <TableRows connectionId={connectionId} schema={schema} table={table} />
        </>
      )}
    </li>
  );
}

function Columns({ connectionId, schema, table }: { connectionId: string; schema: string; table: string }) {
  const columns = useApi("GET /api/v1/connections/{connection_id}/schema/columns", {
    path: { connection_id: connectionId },
    query: { schema, table },
  });
  return (
    <div className="border-t border-line bg-ground">
      <Shown of={columns} rows={3}>
        {({ columns: all }) => (
          <dl className="grid grid-cols-[max-content_max-content_1fr] gap-x-6 gap-y-1 px-10 py-2 text-xs">
            {all.map(({ name, dataType, nullable }) => (
              <div key={name} className="contents">
                <dt className="font-mono">{name}</dt>
                <dd className="text-soft">{dataType}</dd>
                <dd className="text-faint">{nullable ? "" : t("Not null")}</dd>
              </div>
            ))}
          </dl>
        )}
      </Shown>
    </div>
  );
}

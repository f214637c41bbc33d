import { useMemo } from "react";
import { ApiError } from "../../api.ts";
import type { SavedQuery } from "../../calls.ts";
import { useApi } from "../../data.ts";
import type { PanelData } from "./board.tsx";
import { type DraftFilter, type DraftPanel, defaultsOf } from "./draft.ts";

const LIMIT = 1000;

const messageOf = (error: Error) =>
  error instanceof ApiError && error.faults[0] ? error.faults[0].msg : error.message;

/** Data of a panel that is being edited, with the filters' default values. */
export function usePanelData(
  { sql, queryId, parameters }: Pick<DraftPanel, "sql" | "queryId" | "parameters">,
  filters: readonly DraftFilter[],
  queries: readonly SavedQuery[],
): PanelData | undefined {
  const values = { ...defaultsOf(filters), ...parameters };
  const query = queries.find(({ id }) => id === queryId);
  const hasSql = sql !== null && sql.trim() !== "";
  const bySql = useApi(
    "POST /api/v1/query",
    { body: { sql: sql ?? "", parameters: values, limit: LIMIT } } as never,
    { enabled: hasSql, isFixed: true },
  );
  const declared = Object.entries(query?.parameters ?? {}).map(([name, { default: fallback }]) => [
    name,
    (values as Record<string, unknown>)[name] ?? fallback,
  ]);
  const byQuery = useApi(
    "POST /api/v1/queries/{query_id}/run",
    {
      path: { query_id: queryId ?? "" },
      body: { parameters: Object.fromEntries(declared), limit: LIMIT },
    } as never,
    { enabled: query !== undefined, isFixed: true },
  );
  const { data, error } = hasSql ? bySql : byQuery;
  const isAsked = hasSql || query !== undefined;
  return useMemo(() => {
    if (!isAsked) return EMPTY;
    if (error) return { ...EMPTY, error: { code: "sql_error", message: messageOf(error) } };
    if (!data) return undefined;
    const { columns, rowCount, truncated } = data;
    const rows = data.rows.map((row) => columns.map(({ name }) => row[name] ?? null));
    return { columns, rows, rowCount, truncated, ranAt: null, tookMs: null, error: null };
  }, [isAsked, data, error]);
}

const EMPTY: PanelData = {
  columns: [],
  rows: [],
  rowCount: 0,
  truncated: false,
  ranAt: null,
  tookMs: null,
  error: null,
};

import type { DashboardData } from "../../calls.ts";
import type { Panel } from "./values.ts";

const NAME = /\$([A-Za-z_][A-Za-z0-9_]*)/g;

/** The address of the SQL workbench with a panel's SQL and the values it was queried with. */
export function workbenchPath({ sql, queryId, parameters }: Panel, data: DashboardData | undefined): string {
  const known: Record<string, unknown> = { ...data?.filters, ...parameters };
  const search = new URLSearchParams();
  if (queryId !== null) search.set("query", queryId);
  if (sql !== null) search.set("sql", sql);
  const used = [...(sql ?? "").matchAll(NAME)].map(([, name = ""]) => name);
  const values = Object.entries(known).filter(([name]) => queryId !== null || used.includes(name));
  if (values.length > 0) search.set("values", JSON.stringify(Object.fromEntries(values)));
  return `/sql?${search}`;
}

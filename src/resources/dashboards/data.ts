import { timestamp } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import type { Context } from "../../context.ts";
import type { SqlValue } from "../../sql/contract.ts";
import { sqlValue } from "../queries/parameters.ts";
import type { SavedQueryRow } from "../queries/table.ts";
import { runQuery } from "../query/service.ts";
import { quotaOf } from "../usage/quotas.ts";
import { filterValues, sqlValues } from "./filters.ts";
import { type Answer, shared } from "./results.ts";
import { queriesBy } from "./service.ts";
import type { DashboardRow, Filter, Panel } from "./table.ts";
import type { DashboardData } from "./wire.ts";

/** Maximum number of rows of a panel, and of values of a choice. */
const MAX_ROWS = 1_000;
/** Number of panels of one request whose SQL runs at once. */
const AT_ONCE = 3;
/** Minimum seconds between two runs of the SQL for viewers with a link. */
const LINK_SECONDS = 30;

type PanelData = DashboardData["panels"][string];

interface Asked {
  sql: string;
  parameters: Record<string, SqlValue>;
}

/**
 * Returns the data of all panels of a dashboard. A failed panel doesn't affect the others. The same SQL with the same
 * values runs once in `refreshSeconds`, for all viewers. Throws `InvalidInput` for invalid filters.
 */
export async function dashboardData(
  ctx: Context,
  { filters, panels, refreshSeconds }: DashboardRow,
  query: URLSearchParams,
  by: { link?: boolean; keptSeconds?: number } = {},
): Promise<DashboardData> {
  const values = filterValues(filters, query);
  const keptMs = Math.max(refreshSeconds ?? 0, by.keptSeconds ?? 0, by.link ? LINK_SECONDS : 0) * 1000;
  const ask = (request: Asked) => shared(ctx, request, keptMs, () => answer(ctx, request));
  const ids = panels.flatMap(({ queryId }) => (queryId === null ? [] : [queryId]));
  const queries = ids.length === 0 ? [] : await queriesBy(ctx, ids);
  const fault = (error: unknown) => visibleError(ctx, error, by.link === true);
  const data: DashboardData = { filters: values, choices: {}, panels: {} };
  const work = [
    ...filters.flatMap(({ key, sql }) => (sql === null ? [] : [() => choose(key, sql)])),
    ...panels.map((panel) => () => show(panel)),
  ];
  const quota = await quotaOf(ctx, "concurrentQueries");
  await inTurns(work, Math.max(1, Math.min(AT_ONCE, quota ?? AT_ONCE)));
  return { ...data, panels: inOrder(panels, data.panels) };

  async function choose(key: string, sql: string): Promise<void> {
    try {
      const { rows } = await ask({ sql, parameters: {} });
      data.choices[key] = { values: rows.map(([value = null]) => value), error: null };
    } catch (error) {
      data.choices[key] = { values: [], error: fault(error) };
    }
  }

  async function show(panel: Panel): Promise<void> {
    try {
      data.panels[panel.key] = { ...(await ask(askedOf(panel, values, filters, queries))), error: null };
    } catch (error) {
      data.panels[panel.key] = { ...NOTHING, error: fault(error) };
    }
  }
}

const NOTHING: Omit<PanelData, "error"> = {
  columns: [],
  rows: [],
  rowCount: 0,
  truncated: false,
  ranAt: null,
  tookMs: null,
};

const inOrder = (panels: readonly Panel[], data: DashboardData["panels"]) =>
  Object.fromEntries(panels.map(({ key }) => [key, data[key] as PanelData]));

/** Returns a panel's SQL: its own with all filters, or a saved query, whose parameters the filters set by name. */
function askedOf(
  panel: Panel,
  values: JsonObject,
  filters: readonly Filter[],
  queries: readonly SavedQueryRow[],
): Asked {
  if (panel.sql !== null)
    return { sql: panel.sql, parameters: { ...sqlValues(filters, values), ...panel.parameters } };
  const found = queries.find(({ id }) => id === panel.queryId);
  if (!found) throw new AppError("not_found", "The saved query of this panel has been deleted.");
  const parameters = Object.entries(found.parameters).map(([name, { type, default: fallback }]) => [
    name,
    sqlValue(type, panel.parameters[name] ?? values[name] ?? fallback),
  ]);
  return { sql: found.sql, parameters: Object.fromEntries(parameters) };
}

/** Not cancelled with the request: others may wait for the same result, and it is cached. */
async function answer(ctx: Context, { sql, parameters }: Asked): Promise<Answer> {
  const began = ctx.clock.monotonic();
  const ranAt = timestamp(ctx.clock);
  const { columns, rows, rowCount, truncated } = await runQuery(
    ctx,
    { sql, parameters, limit: MAX_ROWS },
    new AbortController().signal,
  );
  return {
    columns,
    rows: rows.map((row) => columns.map(({ name }) => row[name] ?? null)),
    rowCount,
    truncated,
    ranAt,
    tookMs: Math.round(ctx.clock.monotonic() - began),
  };
}

/** Viewers with a link only see that it failed, not why. */
function visibleError(ctx: Context, error: unknown, isOutside: boolean): { code: string; message: string } {
  const isKnown = error instanceof AppError;
  if (!isKnown) ctx.log.report(error, { at: "show a panel" });
  if (isOutside || !isKnown) return { code: "internal", message: "This panel can't be shown right now." };
  return { code: error.code, message: error.message };
}

async function inTurns(work: readonly (() => Promise<void>)[], atOnce: number): Promise<void> {
  let next = 0;
  const go = async () => {
    for (let at = next++; at < work.length; at = next++) await work[at]?.();
  };
  await Promise.all(Array.from({ length: atOnce }, go));
}

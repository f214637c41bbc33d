import { type Static, Type } from "@sinclair/typebox";
import { timestamp } from "../base/clock.ts";
import { AppError } from "../base/errors.ts";
import { plural } from "../base/plural.ts";
import { anything, described, jsonObject, map, named, object, oneOf, optional } from "../base/shape.ts";
import { missingFields, specFaults } from "../charts/spec.ts";
import type { LakeTable } from "../lake/contract.ts";
import { readsOf } from "../lake/reads.ts";
import { lakeJob, sqlName, type TableAtLoad } from "../lake/views.ts";
import { namesIn } from "../sql/text.ts";
import { type Done, defineExecutor, type RunContext } from "./contract.ts";
import type { Board, BoardPanel, Origin } from "./flashboard/board.ts";
import { pageOf } from "./flashboard/page.ts";
import { type PanelRequest, panelsFor } from "./flashboard/requested.ts";

const DEFAULT_ROWS = 1_000;
/** Width of all twelve columns in pixels. */
const FULL_WIDTH_PX = 1_080;
const WIDTHS = { full: 12, half: 6, third: 4 } as const;

const panel = object({
  title: described("Title of the panel", named(255)),
  sql: Type.String({
    minLength: 1,
    maxLength: 1_000_000,
    description: "One SELECT. The panel shows its rows",
  }),
  parameters: optional(described("Values for $name in the SQL", map(anything()))),
  chart: optional(
    jsonObject({
      description: "Vega-Lite specification without data. If omitted, the rows are shown as a table",
      examples: [{ mark: "bar", encoding: { x: { field: "day" }, y: { field: "orders" } } }],
    }),
  ),
  width: optional(
    Type.Union([oneOf(["full", "half", "third"]), Type.Integer({ minimum: 1, maximum: 12 })], {
      description: "full, half, third, or a number of columns from 1 to 12. Default: full",
    }),
  ),
  maxRows: optional(
    described(
      "Maximum number of rows to show. The panel says if there are more",
      Type.Integer({ minimum: 1, maximum: 10_000, default: DEFAULT_ROWS }),
    ),
  ),
});

const definition = object({
  title: described("Title of the dashboard", named(255)),
  prompt: optional(
    described(
      "What the dashboard should show, instead of panels: a model writes them",
      Type.String({ minLength: 1, maxLength: 10_000 }),
    ),
  ),
  panels: optional(described("Panels, in order", Type.Array(panel, { minItems: 1, maxItems: 24 }))),
  datasets: optional(
    Type.Array(named(400), {
      maxItems: 100,
      description: "Datasets that the panels can read, as `layer.dataset`. Default: all",
    }),
  ),
});

type Definition = Static<typeof definition>;
type Panel = NonNullable<Definition["panels"]>[number];

/**
 * Queries the lake for each panel, draws the charts, and stores the dashboard: as JSON with the origin of every number,
 * and as one self-contained HTML file.
 *
 * A second attempt is safe: only the artifacts of the completed run are kept.
 */
export const createFlashboard = defineExecutor({
  kind: "create_flashboard",
  isInside: true,
  title: "Dashboard",
  description: "Creates a dashboard of panels, each with its own SQL, as a page that works without a server.",
  providers: [],
  hasEffects: () => false,
  sqlFields: ["panels.*.sql"],
  definition,
  result: object({
    artifactId: Type.String(),
    pageArtifactId: Type.String(),
    title: Type.String(),
    panels: Type.Array(
      object({
        title: Type.String(),
        rows: Type.Integer(),
        truncated: Type.Boolean(),
        note: Type.Union([Type.String(), Type.Null()]),
        tables: Type.Array(Type.String()),
      }),
    ),
    warnings: Type.Array(Type.String()),
  }),

  check({ prompt, panels }) {
    if ((prompt === undefined) === (panels === undefined)) {
      return [{ path: ["panels"], message: "A flashboard needs either panels or a prompt." }];
    }
    return (Array.isArray(panels) ? panels : []).flatMap(({ chart }, at) =>
      chart === undefined || typeof chart !== "object"
        ? []
        : specFaults(chart).map((fault) => ({
            ...fault,
            path: ["panels", String(at), "chart", ...fault.path],
          })),
    );
  },

  async execute(ctx, { title, prompt, panels, datasets }): Promise<Done> {
    const tables = await tablesOf(ctx, datasets);
    if (!panels) ctx.progress({ phase: "ask", message: "Asking the model for panels" });
    const wanted = panels ?? (await panelsFor(ctx, prompt ?? "", datasets));
    const filled: BoardPanel[] = [];
    for (const [at, each] of wanted.entries()) {
      ctx.progress({
        phase: "query",
        message: each.title,
        current: at,
        total: wanted.length,
        unit: "panels",
      });
      const panel = await fill(ctx, each, tables, datasets);
      ctx.log("info", `${panel.title}: ${panel.rows.length} rows.`);
      filled.push(panel);
    }
    ctx.progress({ phase: "draw", message: title, current: 0, total: wanted.length, unit: "panels" });
    await draw(ctx, filled);
    const board: Board = {
      type: "flashboard",
      version: 1,
      title,
      createdAt: timestamp(ctx.clock),
      panels: filled,
    };
    const reads = readsOf(filled.map(({ sql }) => sql).join("\n;\n"), tables);
    return { ...doneWith(ctx, board), reads };
  },
});

const nameOf = ({ layer, dataset }: LakeTable) => `${layer}.${dataset}`;

/** The tables that panels may read. Throws `not_found` for a missing dataset. */
async function tablesOf(ctx: RunContext, datasets: readonly string[] | undefined): Promise<LakeTable[]> {
  const tables = await ctx.lake.tables();
  if (!datasets) return tables;
  const missing = datasets.find((name) => !tables.some((table) => nameOf(table) === name));
  if (missing !== undefined) throw new AppError("not_found", `There is no dataset ${missing}.`);
  return tables.filter((table) => datasets.includes(nameOf(table)));
}

async function fill(
  ctx: RunContext,
  panel: Panel | PanelRequest,
  tables: readonly LakeTable[],
  datasets: readonly string[] | undefined,
): Promise<BoardPanel> {
  const { title, sql, parameters = {}, chart = null, width = "full", maxRows = DEFAULT_ROWS } = panel;
  const began = ctx.clock.monotonic();
  const queriedAt = timestamp(ctx.clock);
  const { rows, columns, truncated, origins } = await ask().catch((error: unknown) => {
    throw error instanceof AppError && error.code === "sql_error"
      ? new AppError("sql_error", `The panel "${title}": ${error.message}`, { cause: error })
      : error;
  });
  const missing = chart
    ? missingFields(
        chart,
        columns.map((column) => column.name),
      )
    : [];
  if (missing.length > 0) {
    throw new AppError(
      "definition_invalid",
      `The chart of the panel "${title}" shows ${missing.join(", ")}, which its SQL does not give; it gives ${columns.map((column) => column.name).join(", ")}.`,
      { details: { panel: title, missing } },
    );
  }
  return {
    title,
    sql,
    ...(Object.keys(parameters).length > 0 ? { parameters } : {}),
    chart,
    width: typeof width === "number" ? width : WIDTHS[width],
    columns,
    rows,
    truncated,
    note: rows.length === 0 ? "No data for this panel." : null,
    svg: null,
    provenance: {
      runId: ctx.run.id,
      queriedAt,
      durationSeconds: Math.round(ctx.clock.monotonic() - began) / 1000,
      tables: origins,
    },
  };

  async function ask() {
    const { job, past } = await lakeJob(ctx.lake, tables, sql, parameters);
    const hidden = past.find((table) => datasets && !datasets.includes(nameOf(table)));
    if (hidden) throw new AppError("sql_error", `${nameOf(hidden)} is not among the panels' datasets.`);
    const answer = await ctx.sql.query({ ...job, signal: ctx.signal }, maxRows);
    return { ...answer, origins: originsOf(job.sql, tables, past) };
  }
}

/**
 * Tables that the SQL may have read: all that its text can name. Past loads that it names replace the current tables.
 */
function originsOf(sql: string, tables: readonly LakeTable[], past: readonly TableAtLoad[]): Origin[] {
  const speaksOf = namesIn(sql);
  const isSame = (a: LakeTable) => (b: LakeTable) => nameOf(a) === nameOf(b) && a.table === b.table;
  const present = tables.filter(
    (table) => speaksOf(sqlName(table)) && (!past.some(isSame(table)) || readsOf(sql, [table]).length > 0),
  );
  return [
    ...present.map(({ layer, dataset, table, version, rows }) => ({ layer, dataset, table, version, rows })),
    ...past.map(({ layer, dataset, table, rows, loadId }) => ({
      layer,
      dataset,
      table,
      version: null,
      rows,
      asOf: loadId,
    })),
  ];
}

/** Draws a panel with a chart and rows. Throws `definition_invalid` for a chart that can't be drawn. */
async function draw(ctx: RunContext, panels: BoardPanel[]): Promise<void> {
  const charted = panels.filter((panel) => panel.chart !== null && panel.note === null);
  const charts = charted.map(({ chart, rows, width }) => ({
    spec: chart ?? {},
    rows,
    width: Math.round((FULL_WIDTH_PX * width) / 12) - 32,
  }));
  const drawn = await ctx.charts.draw(charts, ctx.signal);
  for (const [at, panel] of charted.entries()) {
    const picture = drawn[at];
    if (!picture || "fault" in picture) {
      throw new AppError(
        "definition_invalid",
        `The chart of the panel "${panel.title}" can't be drawn: ${picture?.fault}`,
      );
    }
    panel.svg = picture.svg;
  }
}

function doneWith(ctx: RunContext, board: Board): Done {
  const { title, panels } = board;
  const id = ctx.ids.uuid();
  const pageId = ctx.ids.uuid();
  const cut = panels
    .filter((panel) => panel.truncated)
    .map(
      (panel) =>
        `${panel.title}: only the first ${plural(panel.rows.length, { one: "row", other: "rows" })}.`,
    );
  const empty = panels.filter((panel) => panel.note !== null).map((panel) => `${panel.title}: no rows.`);
  return {
    result: {
      artifactId: id,
      pageArtifactId: pageId,
      title,
      panels: panels.map(({ title, rows, truncated, note, provenance }) => ({
        title,
        rows: rows.length,
        truncated,
        note,
        tables: [
          ...new Set(provenance.tables.map(({ layer, dataset, table }) => `${layer}.${dataset}.${table}`)),
        ],
      })),
      warnings: [...cut, ...empty],
    },
    artifacts: [
      { id, title, kind: "json", data: JSON.parse(JSON.stringify(board)) },
      {
        id: pageId,
        title: `${title} (page)`,
        kind: "file",
        fileName: `${
          title
            .replaceAll(/[^\p{L}\p{N}._-]+/gu, " ")
            .trim()
            .slice(0, 100) || "flashboard"
        }.html`,
        mimeType: "text/html; charset=utf-8",
        bytes: new TextEncoder().encode(pageOf(board)),
      },
    ],
  };
}

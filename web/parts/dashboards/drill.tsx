import { SquareTerminal } from "lucide-react";
import type { DashboardData } from "../../calls.ts";
import { t } from "../../texts/text.ts";
import { LinkButton } from "../base/button.tsx";
import { Dialog } from "../base/dialog.tsx";
import { plural } from "../base/plural.ts";
import { Grid } from "../table/grid.tsx";
import type { Cell } from "../table/picks.ts";
import { type PanelData, rowsOf, type ShownPanel } from "./board.tsx";
import type { Panel } from "./values.ts";

const NAME = /\$([A-Za-z_][A-Za-z0-9_]*)/g;
const HEIGHT = 360;

/** URL of the SQL workbench with a panel's SQL and its values, or with a query for the rows of these cells. */
export function workbenchPath(
  { sql, queryId, parameters }: Panel,
  data: DashboardData | undefined,
  cells: readonly Cell[] = [],
): string {
  const known: Record<string, unknown> = { ...data?.filters, ...parameters };
  const search = new URLSearchParams();
  if (queryId !== null) search.set("query", queryId);
  if (sql !== null) search.set("sql", cells.length === 0 ? sql : narrowed(sql, cells));
  const used = [...(sql ?? "").matchAll(NAME)].map(([, name = ""]) => name);
  const values = Object.entries(known).filter(([name]) => queryId !== null || used.includes(name));
  if (values.length > 0) search.set("values", JSON.stringify(Object.fromEntries(values)));
  return `/sql?${search}`;
}

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;
const literal = (value: unknown) =>
  typeof value === "number" || typeof value === "boolean"
    ? String(value)
    : `'${String(value).replaceAll("'", "''")}'`;

/** Wraps a panel's statement to select the rows with these values. */
function narrowed(sql: string, cells: readonly Cell[]): string {
  const conditions = cells.map(({ column, value }) =>
    value === null || value === undefined
      ? `${quoted(column)} IS NULL`
      : `${quoted(column)} = ${literal(value)}`,
  );
  return `SELECT * FROM (\n${sql.replace(/;\s*$/, "")}\n)\nWHERE ${conditions.join("\n  AND ")}`;
}

interface Props {
  panel: ShownPanel;
  data: PanelData;
  cells: readonly Cell[];
  /** Opens these rows in SQL. Null for users without permission. */
  href: string | null;
  onClose: () => void;
}

/** The rows behind an element that sets no filter. */
export function DrillDialog({ panel, data, cells, href, onClose }: Props) {
  const rows = rowsOf(data).filter((row) => cells.every(({ column, value }) => row[column] === value));
  const named = cells.map(({ column, value }) => `${column}: ${String(value)}`).join(", ");
  return (
    <Dialog
      title={`${panel.title}, ${named}`}
      isWide
      onClose={onClose}
      foot={
        href !== null && (
          <LinkButton icon={SquareTerminal} href={href}>
            {t("Open in SQL")}
          </LinkButton>
        )
      }
    >
      <p className="mb-2 text-soft">{plural(rows.length, { one: "# row", other: "# rows" })}</p>
      <div className="overflow-hidden rounded-md border border-line">
        <Grid
          label={t("Rows of {title}", { title: panel.title })}
          columns={data.columns}
          rows={rows}
          height={HEIGHT}
        />
      </div>
    </Dialog>
  );
}

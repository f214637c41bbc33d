import type { Reply } from "../../calls.ts";
import { useApi } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { numberFormat } from "../base/formats.ts";
import { Shown } from "../base/page.tsx";
import { plural } from "../base/plural.ts";
import { counted, inWords } from "../base/time.tsx";
import { type Column, Table } from "../table/table.tsx";

type TableProfile = Reply<"GET /api/v1/datasets/{layer}/{dataset}/profile">;
type Profiled = TableProfile["columns"][number];

const PERCENT = numberFormat({ style: "percent", maximumFractionDigits: 1 });

const shownAs = (value: unknown) =>
  value === null || value === undefined
    ? "–"
    : typeof value === "object"
      ? JSON.stringify(value)
      : String(value);

const bound = (of: "min" | "max") => (column: Profiled) => (
  <span className="block max-w-48 truncate font-mono text-xs" title={shownAs(column[of])} dir="auto">
    {shownAs(column[of])}
    {column.isCut && column[of] !== null ? "…" : ""}
  </span>
);

const columnsOf = ({ rows, isApproximate }: TableProfile): readonly Column<Profiled>[] => [
  {
    name: t("Column"),
    cell: ({ name, dataType }) => (
      <>
        <span className="font-mono">{name}</span>{" "}
        <span className="text-xs text-soft">{dataType.toLowerCase()}</span>
      </>
    ),
  },
  {
    name: t("Nulls"),
    isRight: true,
    cell: ({ nulls }) =>
      nulls === 0 ? "0" : `${counted(nulls)} (${PERCENT().format(nulls / Math.max(rows, 1))})`,
  },
  {
    name: isApproximate ? t("Distinct (approx.)") : t("Distinct"),
    isRight: true,
    cell: ({ distinct }) => counted(distinct),
  },
  { name: t("Min"), cell: bound("min") },
  { name: t("Max"), cell: bound("max") },
];

/** Nulls, distinct values, minimum and maximum of each column of a table. */
export function ProfileOf({ layer, dataset, table }: { layer: string; dataset: string; table: string }) {
  const profile = useApi("GET /api/v1/datasets/{layer}/{dataset}/profile", {
    path: { layer, dataset },
    query: { table },
  } as never);
  return (
    <Shown of={profile} rows={8}>
      {(found) => (
        <>
          <Table
            label={t("Profile of {table}", { table })}
            columns={columnsOf(found)}
            rows={found.columns}
            keyOf={({ name }) => name}
          />
          <p className="border-t border-line px-4 py-2 text-xs text-soft">
            {t("{rows} read in {durationSeconds}", {
              rows: plural(found.rows, { one: "# row", other: "# rows" }),
              durationSeconds: inWords(found.durationSeconds),
            })}
          </p>
        </>
      )}
    </Shown>
  );
}

import { shownAs } from "./csv.ts";
import type { Picking } from "./picks.ts";
import { Rows } from "./rows.tsx";

const ROW_HEIGHT = 28;
const MIN_WIDTH = 90;
const MAX_WIDTH = 320;
/** Number of rows whose content determines the width of columns. */
const MEASURED_ROWS = 500;
const CHARACTER_WIDTH = 7.2;

interface GridColumn {
  name: string;
  dataType: string;
}

interface Props {
  columns: readonly GridColumn[];
  rows: readonly Record<string, unknown>[];
  label: string;
  height?: number;
  /** Which cells can be clicked. */
  picking?: Picking | undefined;
  /** Without types and row numbers, and as wide as its container: for readers of the data. */
  isPlain?: boolean;
}

const isNumber = (type: string) =>
  /INT|DOUBLE|FLOAT|DECIMAL|REAL/i.test(type) && !/\[\]|STRUCT|MAP/i.test(type);

/** Rows of a table. Only visible ones are rendered. */
export function Grid({ columns, rows, label, height = 420, picking, isPlain = false }: Props) {
  const widths = columns.map(({ name, dataType }) => {
    const longest = rows
      .slice(0, MEASURED_ROWS)
      .reduce(
        (most, row) => Math.max(most, shownAs(row[name]).length),
        isPlain ? name.length : Math.max(name.length, dataType.length),
      );
    return Math.min(Math.max(longest * CHARACTER_WIDTH + 26, MIN_WIDTH), MAX_WIDTH);
  });
  const columnOf = (width: number) =>
    isPlain ? `minmax(${Math.round(width)}px, 1fr)` : `${Math.round(width)}px`;
  const template = [...(isPlain ? [] : ["44px"]), ...widths.map(columnOf)].join(" ");
  return (
    <Rows
      label={label}
      count={rows.length}
      rowHeight={ROW_HEIGHT}
      height={height}
      head={
        <div
          className="sticky top-0 z-10 grid min-w-max border-b border-line bg-ground text-xs"
          style={{ gridTemplateColumns: template }}
        >
          {!isPlain && <span />}
          {columns.map(({ name, dataType }) => (
            <span
              key={name}
              className={`truncate px-3 py-1 ${isNumber(dataType) ? "text-right" : ""}`}
              title={`${name} ${dataType}`}
            >
              <span className="block truncate font-semibold">{name}</span>
              {!isPlain && <span className="block truncate text-[0.6875rem] text-soft">{dataType}</span>}
            </span>
          ))}
        </div>
      }
      row={(at) => (
        <div
          key={at}
          className="grid break-inside-avoid items-center border-b border-line text-xs hover:bg-sunken"
          style={{ gridTemplateColumns: template, height: ROW_HEIGHT }}
        >
          {!isPlain && (
            <span className="pr-2 text-right text-[0.6875rem] text-faint tabular-nums">{at + 1}</span>
          )}
          {columns.map(({ name, dataType }) => {
            const value = rows[at]?.[name];
            return (
              <span
                key={name}
                dir="auto"
                title={shownAs(value)}
                className={`truncate px-3 font-mono ${isNumber(dataType) ? "text-right" : ""} ${value === null || value === undefined ? "text-faint italic" : ""}`}
              >
                {picking?.may({ column: name, value }) ? (
                  <button
                    type="button"
                    className="max-w-full truncate text-accent hover:underline print:text-ink"
                    onClick={() => picking.pick([{ column: name, value }])}
                  >
                    {shownAs(value)}
                  </button>
                ) : (
                  shownAs(value)
                )}
              </span>
            );
          })}
        </div>
      )}
    />
  );
}

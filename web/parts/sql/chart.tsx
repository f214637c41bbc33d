import { useState } from "react";
import { Labelled } from "../base/labelled.tsx";
import { Later, part } from "../base/later.tsx";
import { counted } from "../base/time.tsx";

export type ChartKind = "line" | "bar" | "scatter";

export interface Series {
  name: string;
  values: readonly (number | null)[];
}

interface Column {
  name: string;
  dataType: string;
}

interface Props {
  columns: readonly Column[];
  rows: readonly Record<string, unknown>[];
}

/** More points than this are not told apart. */
const MOST_POINTS = 2000;
const MOST_SERIES = 6;

const canvas = part(() => import("./chart-canvas.tsx"));

const isNumeric = ({ dataType }: Column) =>
  /INT|DOUBLE|FLOAT|DECIMAL|REAL|NUMERIC/i.test(dataType) && !/\[\]|STRUCT|MAP/i.test(dataType);

const toNumber = (value: unknown): number | null => {
  if (value === null || value === undefined || value === "") return null;
  const number = Number(value); // decimals and long integers come as text
  return Number.isFinite(number) ? number : null;
};

const toLabel = (value: unknown): string => {
  if (value === null || value === undefined) return "null";
  const text = typeof value === "object" ? JSON.stringify(value) : String(value);
  return text.replace(/T00:00:00(?:\.0+)?Z$/, "");
};

/** What can be drawn of a result: numbers over the first column that holds something else, or over the first of all. */
export function Chart({ columns, rows }: Props) {
  const numeric = columns.filter(isNumeric);
  const [wanted, setKind] = useState<ChartKind | null>(null);
  const [over, setOver] = useState<string | null>(null);
  const [left, setLeft] = useState<readonly string[]>([]);
  const x =
    columns.find(({ name }) => name === over) ?? columns.find((column) => !isNumeric(column)) ?? columns[0];
  const kind = wanted ?? (x && /CHAR|BOOL|ENUM|UUID/i.test(x.dataType) ? "bar" : "line");
  const possible = numeric.filter(({ name }) => name !== x?.name).slice(0, MOST_SERIES);
  if (!x || possible.length === 0)
    return (
      <p className="p-4 text-sm text-soft">Charts need at least one numeric column and one other column.</p>
    );
  const drawn = possible.filter(({ name }) => !left.includes(name));
  const points = rows.slice(0, MOST_POINTS);
  return (
    <div className="p-4">
      <div className="mb-4 flex flex-wrap items-end gap-4">
        <Labelled label="Type">
          {(wiring) => (
            <select
              {...wiring}
              className="field w-auto"
              value={kind}
              onChange={(event) => setKind(event.target.value as ChartKind)}
            >
              <option value="line">Line</option>
              <option value="bar">Bar</option>
              <option value="scatter">Scatter</option>
            </select>
          )}
        </Labelled>
        <Labelled label="X axis">
          {(wiring) => (
            <select
              {...wiring}
              className="field w-auto max-w-60"
              value={x.name}
              onChange={(event) => setOver(event.target.value)}
            >
              {columns.map(({ name }) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          )}
        </Labelled>
        <fieldset>
          <legend className="mb-1 text-sm font-medium">Y axis</legend>
          <ul className="flex min-h-8 flex-wrap items-center gap-x-4 gap-y-1 text-sm">
            {possible.map(({ name }) => (
              <li key={name}>
                <label className="flex items-center gap-1.5">
                  <input
                    type="checkbox"
                    className="size-4 accent-accent"
                    checked={!left.includes(name)}
                    onChange={({ target: { checked } }) =>
                      setLeft(checked ? left.filter((each) => each !== name) : [...left, name])
                    }
                  />
                  {name}
                </label>
              </li>
            ))}
          </ul>
        </fieldset>
      </div>
      <Later
        of={canvas}
        given={{
          kind,
          over: x.name,
          labels: points.map((row) => toLabel(row[x.name])),
          series: drawn.map(({ name }) => ({ name, values: points.map((row) => toNumber(row[name])) })),
        }}
      />
      {rows.length > MOST_POINTS && (
        <p className="mt-2 text-xs text-soft">{`Shows the first ${counted(MOST_POINTS)} rows.`}</p>
      )}
    </div>
  );
}

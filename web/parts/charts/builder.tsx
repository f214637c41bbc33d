import { type ReactNode, useId } from "react";
import { plotted } from "../../../src/base/chart-shape.ts";
import {
  AGGREGATES,
  type ChartKind,
  type ChartSpec,
  type Column,
  FORMATS,
  type Sort,
} from "../../../src/base/chart-spec.ts";
import { t } from "../../texts/text.ts";
import { Check } from "../base/fields.tsx";
import { Labelled, TextField } from "../base/labelled.tsx";

const KINDS: Readonly<Record<ChartKind, string>> = {
  line: t("Line"),
  bar: t("Bar"),
  area: t("Area"),
  scatter: t("Scatter"),
  pie: t("Pie"),
  number: t("Number"),
  table: t("Table"),
};
const AGGREGATE_NAMES = {
  sum: t("Sum"),
  avg: t("Average"),
  min: t("Minimum"),
  max: t("Maximum"),
  count: t("Count"),
};
const FORMAT_NAMES = {
  number: t("Number"),
  compact: t("Compact (1.2K)"),
  percent: t("Percent (of a fraction)"),
  bytes: t("Bytes"),
  duration: t("Duration (seconds)"),
};
const SORTS: readonly (readonly [Sort, string])[] = [
  ["x", "X, ascending"],
  ["-x", "X, descending"],
  ["y", "Y, ascending"],
  ["-y", "Y, descending"],
];

interface SelectProps {
  label: string;
  value: string;
  options: readonly (readonly [value: string, name: string])[];
  onChange: (value: string) => void;
}

function Select({ label, value, options, onChange }: SelectProps) {
  return (
    <Labelled label={label}>
      {(wiring) => (
        <select
          {...wiring}
          className="field w-auto max-w-52 min-w-28"
          value={value}
          onChange={(event) => onChange(event.target.value)}
        >
          {options.map(([id, name]) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
      )}
    </Labelled>
  );
}

interface Props {
  spec: ChartSpec;
  columns: readonly Column[];
  onChange: (spec: ChartSpec) => void;
}

/** Changes a field of the chart. A field without a value is omitted. */
function changed(spec: ChartSpec, field: Fields): ChartSpec {
  const entries = Object.entries({ ...spec, ...field });
  const isEmpty = (value: unknown) =>
    value === undefined || value === "" || value === false || (Array.isArray(value) && value.length === 0);
  return Object.fromEntries(entries.filter(([, value]) => !isEmpty(value))) as unknown as ChartSpec;
}

/** Builds a chart from fields: its type, columns and format. */
export function ChartBuilder({ spec, columns, onChange }: Props) {
  const { kind } = spec;
  const set: Set = (field) => onChange(changed(spec, field));
  const names = columns.map(({ name }) => [name, name] as const);
  const none = [["", t("None")]] as const;
  const isPlot = kind !== "number" && kind !== "table";
  return (
    <div className="space-y-3">
      <Line>
        <Select
          label={t("Type")}
          value={kind}
          options={Object.entries(KINDS)}
          onChange={(value) => set({ kind: value as ChartKind })}
        />
        {isPlot && (
          <Select
            label={kind === "pie" ? t("Slices") : t("X axis")}
            value={spec.x ?? columns[0]?.name ?? ""}
            options={names}
            onChange={(x) => set({ x })}
          />
        )}
        {isPlot && kind !== "pie" && (
          <Select
            label={t("Series")}
            value={spec.series ?? ""}
            options={[...none, ...names]}
            onChange={(series) => set({ series })}
          />
        )}
        {kind !== "table" && (
          <Select
            label={t("Aggregate")}
            value={spec.aggregate ?? ""}
            options={[
              ["", kind === "number" ? t("First row") : t("Default (sum)")],
              ...AGGREGATES.map((each) => [each, AGGREGATE_NAMES[each]] as const),
            ]}
            onChange={(aggregate) => set({ aggregate: aggregate as NonNullable<ChartSpec["aggregate"]> })}
          />
        )}
        {isPlot && (
          <Select
            label={t("Sort")}
            value={spec.sort ?? ""}
            options={[["", t("As queried")], ...SORTS]}
            onChange={(sort) => set({ sort: sort as Sort })}
          />
        )}
      </Line>
      {kind !== "table" && (
        <Line>
          <Plotted spec={spec} columns={columns} isOne={kind === "number" || kind === "pie"} set={set} />
        </Line>
      )}
      {kind !== "table" && <Look spec={spec} set={set} />}
    </div>
  );
}

const Line = ({ children }: { children: ReactNode }) => (
  <div className="flex flex-wrap items-end gap-3">{children}</div>
);

type Fields = { [K in keyof ChartSpec]?: ChartSpec[K] | undefined };
type Set = (field: Fields) => void;

/** Which columns are plotted. */
function Plotted({ spec, columns, isOne, set }: Omit<Props, "onChange"> & { isOne: boolean; set: Set }) {
  const drawn = plotted(spec, columns);
  if (isOne)
    return (
      <Select
        label={t("Value")}
        value={drawn[0] ?? ""}
        options={columns.map(({ name }) => [name, name])}
        onChange={(name) => set({ y: [name] })}
      />
    );
  return (
    <fieldset>
      <legend className="mb-1 text-sm font-medium">{t("Y axis")}</legend>
      <ul className="flex min-h-8 flex-wrap items-center gap-x-4 gap-y-1 text-sm">
        {columns
          .filter(({ name }) => name !== spec.x && name !== spec.series)
          .map(({ name }) => (
            <li key={name}>
              <label className="flex items-center gap-1.5">
                <input
                  type="checkbox"
                  className="size-4 accent-accent"
                  checked={drawn.includes(name)}
                  onChange={({ target: { checked } }) =>
                    set({ y: checked ? [...drawn, name] : drawn.filter((each) => each !== name) })
                  }
                />
                {name}
              </label>
            </li>
          ))}
      </ul>
    </fieldset>
  );
}

/** Number format, and the value for comparison. */
function Look({ spec, set }: { spec: ChartSpec; set: Set }) {
  const id = useId();
  return (
    <details className="text-sm">
      <summary className="text-soft hover:text-ink">{t("Format and goal")}</summary>
      <div className="mt-2 flex flex-wrap items-end gap-3">
        <Select
          label={t("Number format")}
          value={spec.format ?? "number"}
          options={FORMATS.map((each) => [each, FORMAT_NAMES[each]])}
          onChange={(format) => set({ format: format as NonNullable<ChartSpec["format"]> })}
        />
        <div className="w-28">
          <TextField
            label={t("Unit")}
            maxLength={20}
            value={spec.unit ?? ""}
            onChange={(unit) => set({ unit })}
          />
        </div>
        <div className="w-32">
          <label htmlFor={id} className="mb-1 block text-sm font-medium">
            {t("Goal")}
          </label>
          <input
            id={id}
            type="number"
            step="any"
            className="field"
            value={spec.goal ?? ""}
            onChange={({ target: { value } }) => set({ goal: value === "" ? undefined : Number(value) })}
          />
        </div>
        {(spec.kind === "bar" || spec.kind === "area") && (
          <div className="pb-1.5">
            <Check label={t("Stacked")} value={spec.stack === true} onChange={(stack) => set({ stack })} />
          </div>
        )}
      </div>
    </details>
  );
}

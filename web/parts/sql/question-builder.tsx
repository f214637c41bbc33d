import { Plus, X } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import type { Column } from "../../../src/base/chart-spec.ts";
import { call } from "../../api.ts";
import { useApi } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { IconButton } from "../base/button.tsx";
import { tableName } from "../base/table-name.ts";
import { PickerField } from "../form/picker-field.tsx";
import type { Picker } from "../form/pickers.ts";
import {
  askOf,
  columnsFor,
  type Filter,
  FUNCTIONS,
  type Group,
  kindOf,
  type Measure,
  type MeasureFunction,
  type Question,
  TESTS,
  type Test,
  takesValue,
  UNITS,
  type Unit,
} from "./question.ts";

const MOST = 20;
const NO_COLUMNS: readonly Column[] = [];

const TEST_NAMES: Readonly<Record<Test, string>> = {
  "=": t("is"),
  "!=": t("is not"),
  ">": t("is greater than"),
  ">=": t("is at least"),
  "<": t("is less than"),
  "<=": t("is at most"),
  contains: t("contains"),
  starts: t("starts with"),
  last: t("in the last (days)"),
  true: t("is true"),
  false: t("is false"),
  empty: t("is empty"),
  filled: t("is not empty"),
};
const TIME_TESTS: Partial<Record<Test, string>> = { "=": t("on"), ">=": t("on or after"), "<": t("before") };
const FUNCTION_NAMES: Readonly<Record<MeasureFunction, string>> = {
  count: t("Count of rows"),
  sum: t("Sum"),
  avg: t("Average"),
  min: t("Minimum"),
  max: t("Maximum"),
  distinct: t("Distinct values"),
};
const UNIT_NAMES: Readonly<Record<Unit, string>> = {
  day: t("by day"),
  week: t("by week"),
  month: t("by month"),
  quarter: t("by quarter"),
  year: t("by year"),
};

const TABLES: Picker = {
  of: "tables",
  label: () => t("Search tables"),
  async search(q, signal) {
    const words = q.replace(/^.*\./, "").replace(/__.*$/, "");
    const found = await call(
      "GET /api/v1/datasets",
      { query: { limit: MOST, ...(words === "" ? {} : { q: words }) } },
      { signal },
    );
    return found.datasets
      .flatMap(({ layer, dataset, tables }) => tables.map(({ name }) => tableName(layer, dataset, name)))
      .filter((name) => name.toLowerCase().includes(q.toLowerCase()))
      .map((name) => ({ value: name, name, about: "" }));
  },
  nameOf: null,
};

/** The columns of a table. Empty while they are loading. */
function useColumns(table: string): readonly Column[] {
  const [layer = "", name = ""] = table.split(".");
  const dataset = name.split("__")[0] ?? "";
  const found = useApi(
    "GET /api/v1/datasets",
    { query: { layer, q: dataset, limit: 100 } },
    { enabled: name !== "" },
  );
  for (const each of found.data?.datasets ?? [])
    for (const { name: own, columns } of each.tables)
      if (tableName(each.layer, each.dataset, own) === table) return columns;
  return NO_COLUMNS;
}

interface Props {
  question: Question;
  onChange: (question: Question) => void;
  /** True if the SQL was edited since. */
  isEdited: boolean;
}

/** Builds a query of a table without SQL: filters, measures and groups. */
export function QuestionBuilder({ question, onChange, isEdited }: Props) {
  const { table, filters, measures, groups } = question;
  const columns = useColumns(table);
  const set = (change: Partial<Question>) => onChange({ ...question, ...change });
  const [first] = columns;
  return (
    <section
      aria-label={t("Query builder")}
      className="mb-3 space-y-2 rounded-lg border border-line bg-raised px-4 py-3 text-sm"
    >
      <Line label={t("Table")}>
        <div className="w-80 max-w-full">
          <PickerField
            picker={TABLES}
            value={table}
            isId={false}
            onChange={(name) => name !== table && onChange(askOf(name))}
            wiring={{ "aria-label": t("Table") }}
          />
        </div>
      </Line>
      {first && (
        <>
          <Line
            label={t("Filter|verb")}
            add={t("Add filter")}
            onAdd={() => set({ filters: [...filters, filterOf(first)] })}
          >
            <Each
              list={filters}
              nameOf={({ column }) => t("Remove filter {name}", { name: column })}
              onChange={(next) => set({ filters: next })}
            >
              {(filter, put) => <FilterFields filter={filter} columns={columns} onChange={put} />}
            </Each>
          </Line>
          <Line
            label={t("Summarize")}
            add={t("Add summary")}
            onAdd={() => set({ measures: [...measures, { fn: "count", column: "" }] })}
          >
            <Each
              list={measures}
              nameOf={({ fn }) => t("Remove summary {name}", { name: FUNCTION_NAMES[fn] })}
              onChange={(next) => set({ measures: next })}
            >
              {(measure, put) => <MeasureFields measure={measure} columns={columns} onChange={put} />}
            </Each>
          </Line>
          <Line
            label={t("Group by")}
            add={t("Add group")}
            onAdd={() =>
              set({
                groups: [...groups, groupOf(columns.find((each) => kindOf(each) === "time") ?? first)],
                measures: measures.length > 0 ? measures : [{ fn: "count", column: "" }],
              })
            }
          >
            <Each
              list={groups}
              nameOf={({ column }) => t("Remove group {name}", { name: column })}
              onChange={(next) => set({ groups: next })}
            >
              {(group, put) => <GroupFields group={group} columns={columns} onChange={put} />}
            </Each>
          </Line>
        </>
      )}
      {isEdited && (
        <p className="text-soft" role="status">
          {t("The SQL below has been edited. A change here replaces it.")}
        </p>
      )}
    </section>
  );
}

interface LineProps {
  label: string;
  children: ReactNode;
  add?: string;
  onAdd?: () => void;
}

const Line = ({ label, children, add, onAdd }: LineProps) => (
  <div className="flex flex-wrap items-center gap-2">
    <span className="w-24 shrink-0 text-soft">{label}</span>
    {children}
    {add && onAdd && <IconButton icon={Plus} label={add} onClick={onAdd} />}
  </div>
);

interface EachProps<T> {
  list: readonly T[];
  nameOf: (each: T) => string;
  onChange: (list: readonly T[]) => void;
  children: (each: T, put: (next: T) => void) => ReactNode;
}

function Each<T>({ list, nameOf: removeName, onChange, children }: EachProps<T>) {
  return list.map((each, at) => (
    <span
      // biome-ignore lint/suspicious/noArrayIndexKey: entries have no IDs
      key={at}
      className="flex max-w-full flex-wrap items-center gap-1 rounded-md bg-sunken p-1"
    >
      {children(each, (next) => onChange(list.with(at, next)))}
      <IconButton icon={X} label={removeName(each)} onClick={() => onChange(list.toSpliced(at, 1))} />
    </span>
  ));
}

interface ChoiceProps {
  label: string;
  value: string;
  options: readonly (readonly [value: string, name: string])[];
  onChange: (value: string) => void;
}

const Choice = ({ label, value, options, onChange }: ChoiceProps) => (
  <select
    aria-label={label}
    className="field w-auto max-w-48"
    value={value}
    onChange={(event) => onChange(event.target.value)}
  >
    {options.map(([id, name]) => (
      <option key={id} value={id}>
        {name}
      </option>
    ))}
  </select>
);

const byName = (columns: readonly Column[]) => columns.map(({ name }) => [name, name] as const);

function filterOf(column: Column): Filter {
  const kind = kindOf(column);
  return { column: column.name, kind, test: TESTS[kind][0] ?? "filled", value: "" };
}

const groupOf = (column: Column): Group => {
  const kind = kindOf(column);
  return { column: column.name, kind, by: kind === "time" ? "month" : null };
};

interface FieldsProps<T> {
  columns: readonly Column[];
  onChange: (next: T) => void;
}

function FilterFields({ filter, columns, onChange }: FieldsProps<Filter> & { filter: Filter }) {
  const { column, kind, test, value } = filter;
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  const put = () => typed !== value && onChange({ ...filter, value: typed });
  return (
    <>
      <Choice
        label={t("Column of the filter")}
        value={column}
        options={byName(columns)}
        onChange={(name) => {
          const next = columns.find((each) => each.name === name);
          if (next) onChange(filterOf(next));
        }}
      />
      <Choice
        label={t("Condition of {name}", { name: column })}
        value={test}
        options={TESTS[kind].map((each) => [
          each,
          (kind === "time" ? TIME_TESTS[each] : undefined) ?? TEST_NAMES[each],
        ])}
        onChange={(next) =>
          onChange({ ...filter, test: next as Test, value: next === "last" ? "30" : value })
        }
      />
      {takesValue(test) && (
        <input
          aria-label={t("Value of {name}", { name: column })}
          type={test === "last" || kind === "number" ? "number" : kind === "time" ? "date" : "text"}
          step="any"
          className="field w-36"
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
          onBlur={put}
          onKeyDown={(event) => event.key === "Enter" && put()}
        />
      )}
    </>
  );
}

function MeasureFields({ measure, columns, onChange }: FieldsProps<Measure> & { measure: Measure }) {
  const { fn, column } = measure;
  const options = columnsFor(fn, columns);
  return (
    <>
      <Choice
        label={t("Summary")}
        value={fn}
        options={FUNCTIONS.filter((each) => columnsFor(each, columns).length > 0).map((each) => [
          each,
          FUNCTION_NAMES[each],
        ])}
        onChange={(name) => {
          const next = name as MeasureFunction;
          const fitting = columnsFor(next, columns).map((each) => each.name);
          const kept = fitting.includes(column) ? column : (fitting[0] ?? "");
          onChange({ fn: next, column: next === "count" ? "" : kept });
        }}
      />
      {fn !== "count" && (
        <Choice
          label={t("Column of the summary")}
          value={column}
          options={byName(options)}
          onChange={(name) => onChange({ fn, column: name })}
        />
      )}
    </>
  );
}

function GroupFields({ group, columns, onChange }: FieldsProps<Group> & { group: Group }) {
  return (
    <>
      <Choice
        label={t("Column of the group")}
        value={group.column}
        options={byName(columns.filter((each) => kindOf(each) !== "other"))}
        onChange={(name) => {
          const next = columns.find((each) => each.name === name);
          if (next) onChange(groupOf(next));
        }}
      />
      {group.kind === "time" && (
        <Choice
          label={t("Unit of {name}", { name: group.column })}
          value={group.by ?? ""}
          options={[["", t("as it is")], ...UNITS.map((unit) => [unit, UNIT_NAMES[unit]] as const)]}
          onChange={(unit) => onChange({ ...group, by: unit === "" ? null : (unit as Unit) })}
        />
      )}
    </>
  );
}

import { useEffect, useRef, useState } from "react";
import type { DashboardData } from "../../calls.ts";
import { Button } from "../base/button.tsx";
import { Labelled } from "../base/labelled.tsx";
import type { Filter, Values } from "./values.ts";

const TYPING_MS = 400;

interface Props {
  filters: readonly Filter[];
  values: Values;
  /** Undefined until they are loaded. */
  data: DashboardData | undefined;
}

/** The filters of a dashboard, which change its address. */
export function FilterFields({ filters, values, data }: Props) {
  if (filters.length === 0) return null;
  const valueBy = (name: string): string => values.given[name] ?? String(data?.filters[name] ?? "");
  return (
    <search className="mb-4 flex flex-wrap items-end gap-3 print:hidden">
      {filters.map((filter) =>
        filter.type === "date_range" ? (
          ["from", "to"].map((end) => {
            const name = `${filter.key}_${end}`;
            const label = end === "from" ? `${filter.label}, from` : `${filter.label}, to`;
            return (
              <Typed
                key={name}
                label={label}
                type="date"
                value={valueBy(name)}
                onChange={(value) => values.set(name, value)}
              />
            );
          })
        ) : (
          <Field
            key={filter.key}
            filter={filter}
            value={valueBy(filter.key)}
            choices={data?.choices[filter.key]}
            onChange={(value) => values.set(filter.key, value)}
          />
        ),
      )}
      {values.isAny && (
        <Button kind="quiet" onClick={values.clear}>
          Clear filters
        </Button>
      )}
    </search>
  );
}

interface FieldProps {
  filter: Filter;
  value: string;
  choices: DashboardData["choices"][string] | undefined;
  onChange: (value: string) => void;
}

function Field({ filter, value, choices, onChange }: FieldProps) {
  const { label, type, options } = filter;
  if (type === "text" || type === "number" || type === "date")
    return <Typed label={label} type={type} value={value} onChange={onChange} />;
  const known = type === "boolean" ? ["true", "false"] : (options ?? choices?.values ?? []);
  const texts = known.filter((each) => each !== null).map(String);
  const all = value === "" || texts.includes(value) ? texts : [value, ...texts];
  return (
    <Labelled label={label} fault={choices?.error?.message}>
      {(wiring) => (
        <select
          {...wiring}
          className="field w-auto max-w-60 min-w-32"
          value={value}
          onChange={(event) => onChange(event.target.value)}
        >
          <option value="">All</option>
          {all.map((each) => (
            <option key={each} value={each}>
              {type === "boolean" ? (each === "true" ? "Yes" : "No") : each}
            </option>
          ))}
        </select>
      )}
    </Labelled>
  );
}

interface TypedProps {
  label: string;
  type: "text" | "number" | "date";
  value: string;
  onChange: (value: string) => void;
}

/** A field that reports its value once typing pauses. */
function Typed({ label, type, value, onChange }: TypedProps) {
  const [text, setText] = useState(value);
  const report = useRef(onChange);
  report.current = onChange;
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => report.current(text), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text, value]);
  return (
    <Labelled label={label}>
      {(wiring) => (
        <input
          {...wiring}
          type={type}
          step={type === "number" ? "any" : undefined}
          className="field w-40"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      )}
    </Labelled>
  );
}

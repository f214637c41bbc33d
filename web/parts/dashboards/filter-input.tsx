import { useEffect, useRef, useState } from "react";
import { t } from "../../texts/text.ts";
import { Labelled } from "../base/labelled.tsx";
import { type Filter, namesOf } from "./values.ts";

/** Pause in typing before a value is reported. */
const TYPING_MS = 400;

interface Props {
  filter: Pick<Filter, "key" | "type" | "label">;
  /** Text of a value by its name. Empty for none. */
  textOf: (name: string) => string;
  onChange: (name: string, text: string) => void;
  /** Values of a choice. Null if any text is allowed. */
  choices?: readonly unknown[] | null;
  fault?: string | undefined;
  /** Placeholder for no value. */
  none: string;
  /** Reports each keystroke instead of waiting for a pause. */
  isPrompt?: boolean;
}

/** The field of a filter, or both fields of a date range. Used on the dashboard and for defaults. */
export function FilterInput({ filter, textOf, onChange, choices = null, fault, none, isPrompt }: Props) {
  const { type, label } = filter;
  if (type === "boolean" || (type === "choice" && choices !== null))
    return <Choice {...{ filter, textOf, onChange, choices, fault, none }} />;
  const kind = type === "number" ? "number" : type === "date" || type === "date_range" ? "date" : "text";
  return namesOf(filter).map((name, at) => (
    <Typed
      key={name}
      label={
        type !== "date_range" ? label : at === 0 ? t("{label}, from", { label }) : t("{label}, to", { label })
      }
      type={kind}
      waitMs={isPrompt ? 0 : TYPING_MS}
      value={textOf(name)}
      onChange={(text) => onChange(name, text)}
    />
  ));
}

function Choice({ filter: { key, type, label }, textOf, onChange, choices, fault, none }: Props) {
  const value = textOf(key);
  const known = type === "boolean" ? ["true", "false"] : (choices ?? []);
  const texts = known.filter((each) => each !== null && each !== "").map(String);
  const all = value === "" || texts.includes(value) ? texts : [value, ...texts];
  return (
    <Labelled label={label} fault={fault}>
      {(wiring) => (
        <select
          {...wiring}
          className="field w-auto max-w-60 min-w-32"
          value={value}
          onChange={(event) => onChange(key, event.target.value)}
        >
          <option value="">{none}</option>
          {all.map((each) => (
            <option key={each} value={each}>
              {type === "boolean" ? (each === "true" ? t("Yes") : t("No")) : each}
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
  waitMs: number;
  onChange: (value: string) => void;
}

/** A field that reports its value once typing pauses. */
function Typed({ label, type, value, waitMs, onChange }: TypedProps) {
  const [text, setText] = useState(value);
  const report = useRef(onChange);
  report.current = onChange;
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => report.current(text), waitMs);
    return () => clearTimeout(timer);
  }, [text, value, waitMs]);
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

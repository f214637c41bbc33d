import { useContext, useEffect, useRef } from "react";
import type { Fault } from "../../api.ts";
import type { Schema } from "../../calls.ts";
import { t } from "../../texts/text.ts";
import { Coded } from "../base/coded.tsx";
import type { Tables } from "../base/table-name.ts";
import { AddsDefaults, FieldPath, IsAnswer } from "./answer.ts";
import { Field } from "./field.tsx";
import { isShort, propertiesOf, requiredOf } from "./schema.ts";

const INVALID = "[aria-invalid=true]";
/** Two short fields fit on a row. */
const GRID = "grid gap-4 @md:grid-cols-2";

export type Values = Record<string, unknown>;

interface Props {
  schema: Schema;
  value: Values;
  onChange: (value: Values) => void;
  /** Errors from the API. */
  faults?: readonly Fault[];
  /** Location of the value in the request: `["body", "definition"]`. */
  at: readonly string[];
  /** Fields below "More settings", which is collapsed. */
  minor?: readonly string[];
  /** For SQL fields. */
  tables?: Tables;
}

/** A form generated from a JSON Schema of an object. Parts without a form are edited as JSON. */
export function SchemaForm({ schema, value, onChange, faults = [], at, minor = [], tables }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const isAnswer = useContext(IsAnswer);
  const own = faults.filter(({ loc }) => at.every((part, index) => loc[index] === part));
  useEffect(() => {
    const first = own.length > 0 ? box.current?.querySelector<HTMLElement>(INVALID) : null;
    (first?.querySelector<HTMLElement>(INVALID) ?? first)?.focus();
  }, [own.length]);
  const fields = propertiesOf(schema);
  const required = requiredOf(schema);
  const below = own.map((fault) => ({ ...fault, loc: fault.loc.slice(at.length) }));
  const known = new Set(fields.map(([name]) => name));
  const stray = below.filter(({ loc }) => !known.has(loc[0] ?? ""));
  const isMinor = (name: string) => minor.includes(name) && !required.includes(name);
  const draw = ([name, of]: readonly [string, Schema]) => (
    <div key={name} className={isShort(name, of, isAnswer) ? "min-w-0" : "min-w-0 @md:col-span-2"}>
      <Field
        name={name}
        schema={of}
        isRequired={required.includes(name)}
        value={value[name]}
        faults={below
          .filter(({ loc }) => loc[0] === name)
          .map((fault) => ({ ...fault, loc: fault.loc.slice(1) }))}
        onChange={(next) => {
          const after = { ...value };
          if (next === undefined) delete after[name];
          else after[name] = next;
          onChange(after);
        }}
        tables={tables}
      />
    </div>
  );
  const path = at.slice(1).filter((key) => !/^\d+$/.test(key));
  const more = fields.filter(([name]) => isMinor(name));
  const isSet = more.filter(([name]) => value[name] !== undefined).length;
  return (
    <div ref={box} className="@container space-y-4">
      {stray.length > 0 && (
        <div role="alert" className="rounded-md bg-bad-soft px-3 py-2 text-sm text-bad">
          <ul>
            {stray.map(({ loc, msg }) => (
              <li key={loc.join(".") + msg}>
                <Coded text={loc.length > 0 ? `${loc.join(".")}: ${msg}` : msg} />
              </li>
            ))}
          </ul>
        </div>
      )}
      <FieldPath value={path}>
        <div className={GRID}>{fields.filter(([name]) => !isMinor(name)).map(draw)}</div>
        {more.length > 0 && (
          <details
            className="rounded-md border border-line"
            open={more.some(([name]) => below.some(({ loc }) => loc[0] === name)) || undefined}
          >
            <summary className="px-3 py-2 text-sm text-soft hover:text-ink">
              {isSet > 0 ? t("More settings ({count} set)", { count: isSet }) : t("More settings")}
            </summary>
            <div className={`border-t border-line p-3 ${GRID}`}>{more.map(draw)}</div>
          </details>
        )}
      </FieldPath>
    </div>
  );
}

/**
 * A form whose values are literal, and sent as they are shown. It starts with `startValue(schema, true, addsDefaults)`.
 */
export const AnswerForm = ({ addsDefaults = false, ...props }: Props & { addsDefaults?: boolean }) => (
  <IsAnswer value>
    <AddsDefaults value={addsDefaults}>
      <SchemaForm {...props} />
    </AddsDefaults>
  </IsAnswer>
);

/** Errors at none of `drawn`, for the top of a form. */
export function Faults({ of, drawn }: { of: readonly Fault[]; drawn: readonly (readonly string[])[] }) {
  const left = of.filter(({ loc }) => !drawn.some((at) => at.every((part, index) => loc[index] === part)));
  if (left.length === 0) return null;
  return (
    <div role="alert" className="mb-4 rounded-md bg-bad-soft px-3 py-2 text-sm text-bad">
      <ul>
        {left.map(({ loc, msg }) => (
          <li key={loc.join(".") + msg}>
            <Coded text={loc.length > 1 ? `${loc.slice(1).join(".")}: ${msg}` : msg} />
          </li>
        ))}
      </ul>
    </div>
  );
}

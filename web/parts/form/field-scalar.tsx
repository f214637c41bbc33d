import { useContext } from "react";
import { t } from "../../texts/text.ts";
import { Labelled } from "../base/labelled.tsx";
import { Code } from "../editor/code.tsx";
import { TemplateText } from "../editor/template-text.tsx";
import { AddsDefaults, IsAnswer } from "./answer.ts";
import { type FieldProps, messagesOf } from "./field-frame.tsx";
import { FilesHere } from "./files-here.ts";
import { PickerField } from "./picker-field.tsx";
import { pickerOf } from "./pickers.ts";
import { aboutOf, allowsNull, type Drawn, titleOf, withNote } from "./schema.ts";
import { toNumber, useTyped } from "./typed.ts";

type ScalarDrawn = Extract<Drawn, { as: "choice" | "yes" | "number" | "text" | "lines" }>;

/** A field with one value, or with a list of scalars. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: one case for each kind of field
export function Scalar({
  name,
  schema,
  isRequired,
  value,
  faults,
  onChange,
  drawn,
  tables,
}: FieldProps & { drawn: ScalarDrawn }) {
  const connectionId = useContext(FilesHere);
  const isAnswer = useContext(IsAnswer);
  const addsDefaults = useContext(AddsDefaults);
  const fallback = schema.default;
  const hint =
    !addsDefaults || fallback === undefined || typeof fallback === "object" ? "" : String(fallback);
  const title = titleOf(name, schema);
  if (drawn.as === "yes") {
    const isOn = typeof value === "boolean" ? value : addsDefaults && fallback === true;
    const isAsked = isRequired && typeof fallback !== "boolean";
    return (
      <Labelled label={title} isRequired={isAsked} about={aboutOf(schema)} fault={messagesOf(faults)}>
        {(wiring) =>
          isAsked || (isAnswer && allowsNull(schema)) ? (
            <Choice
              wiring={wiring}
              value={typeof value === "boolean" ? String(value) : ""}
              options={yesOrNo()}
              none="–"
              isRequired={isRequired}
              onChange={(next) => onChange(next === "" ? undefined : next === "true")}
            />
          ) : (
            <input
              {...wiring}
              type="checkbox"
              className="size-4 accent-accent"
              checked={isOn}
              onChange={(event) => onChange(event.target.checked)}
            />
          )
        }
      </Labelled>
    );
  }
  const about =
    drawn.as === "choice"
      ? (drawn.options.find((option) => option.is === value)?.about ?? aboutOf(schema))
      : aboutOf(schema);
  return (
    <Labelled
      label={title}
      isRequired={isRequired}
      about={withNote(about, drawn.as === "lines" ? t("One per line.") : null)}
      fault={messagesOf(faults)}
    >
      {/* biome-ignore lint/complexity/noExcessiveLinesPerFunction: one case for each kind of field */}
      {(wiring) => {
        if (drawn.as === "choice") {
          return (
            <Choice
              wiring={wiring}
              value={value === undefined || value === null ? "" : String(value)}
              options={drawn.options}
              none={hint ? t("{value} (default)", { value: hint }) : "–"}
              isRequired={isRequired}
              onChange={(next) => {
                const option = drawn.options.find((each) => each.value === next);
                onChange(next === "" ? undefined : option ? option.is : next);
              }}
            />
          );
        }
        if (drawn.as === "lines")
          return <Lines wiring={wiring} isNumber={drawn.isNumber} value={value} onChange={onChange} />;
        const language =
          name === "sql" ? "sql" : schema.contentMediaType === "text/typescript" ? "typescript" : null;
        if (drawn.as === "text" && language !== null) {
          return (
            <Code
              language={language}
              label={title}
              value={typeof value === "string" ? value : ""}
              isInvalid={faults.length > 0}
              onChange={(text) => onChange(text || undefined)}
              minHeight={160}
              {...(tables ? { tables } : {})}
            />
          );
        }
        const text = value === undefined || value === null ? "" : String(value);
        if (drawn.as === "text" && drawn.isSecret && drawn.isLong) {
          // a single-line input would remove line feeds from a key
          return (
            <textarea
              {...wiring}
              rows={3}
              className="field font-mono text-xs [-webkit-text-security:disc]"
              autoComplete="off"
              spellCheck={false}
              placeholder={hint}
              value={text}
              onChange={(event) => onChange(event.target.value || undefined)}
            />
          );
        }
        const picker = drawn.as === "text" && !drawn.isSecret ? pickerOf(name, schema, connectionId) : null;
        if (picker) {
          return (
            <PickerField
              picker={picker}
              value={text}
              isId={schema.format === "uuid"}
              wiring={wiring}
              onChange={(next) => onChange(next || undefined)}
            />
          );
        }
        if (drawn.as === "text" && drawn.isLong) {
          return (
            <TemplateText
              {...wiring}
              isLong
              value={text}
              placeholder={hint}
              onChange={(next) => onChange(next || undefined)}
            />
          );
        }
        if (drawn.as === "text" && drawn.isSecret) {
          return (
            <input
              {...wiring}
              className="field"
              type="password"
              autoComplete="new-password"
              spellCheck={false}
              placeholder={hint}
              value={text}
              onChange={(event) => onChange(event.target.value || undefined)}
            />
          );
        }
        if (drawn.as === "number")
          return <NumberField wiring={wiring} value={value} placeholder={hint} onChange={onChange} />;
        return (
          <TemplateText
            {...wiring}
            placeholder={hint}
            value={text}
            onChange={(next) => onChange(next || undefined)}
          />
        );
      }}
    </Labelled>
  );
}

/** Options of a required boolean. */
export const yesOrNo = () => [
  { value: "true", name: t("Yes") },
  { value: "false", name: t("No") },
];

interface ChoiceProps {
  wiring: object;
  value: string;
  options: readonly { value: string; name?: string }[];
  /** Text for no value. */
  none: string;
  isRequired: boolean;
  onChange: (value: string) => void;
}

/** A list of options. A value that is none of them, such as a template, is shown too. */
export function Choice({ wiring, value, options, none, isRequired, onChange }: ChoiceProps) {
  const isOther = value !== "" && !options.some((option) => option.value === value);
  return (
    <select {...wiring} className="field" value={value} onChange={(event) => onChange(event.target.value)}>
      {!(isRequired && value !== "") && <option value="">{none}</option>}
      {isOther && <option>{value}</option>}
      {options.map((option) => (
        <option key={option.value} value={option.value}>
          {option.name ?? option.value}
        </option>
      ))}
    </select>
  );
}

interface TypedProps {
  wiring: object;
  value: unknown;
  onChange: (value: unknown) => void;
}

/** A field for a number or a template. While it is typed, its text is kept. */
export function NumberField({ wiring, value, placeholder, onChange }: TypedProps & { placeholder: string }) {
  const written = value === undefined || value === null ? "" : String(value);
  const [text, setTyped] = useTyped(value, toNumber, written);
  return (
    <TemplateText
      {...wiring}
      inputMode="decimal"
      placeholder={placeholder}
      value={text}
      onChange={(next) => {
        setTyped(next);
        onChange(toNumber(next));
      }}
    />
  );
}

function linesOf(text: string, isNumber: boolean): unknown[] | undefined {
  const lines = text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
  return lines.length === 0 ? undefined : isNumber ? lines.map(toNumber) : lines;
}

function Lines({ wiring, isNumber, value, onChange }: TypedProps & { isNumber: boolean }) {
  const written = Array.isArray(value) ? value.join("\n") : "";
  const none = Array.isArray(value) ? [] : undefined;
  const [text, setTyped] = useTyped(value, (typed) => linesOf(typed, isNumber) ?? none, written);
  return (
    <textarea
      {...wiring}
      rows={Math.min(Math.max(text.split("\n").length, 1), 8)}
      className="field font-mono text-xs"
      spellCheck={false}
      value={text}
      onChange={(event) => {
        setTyped(event.target.value);
        onChange(linesOf(event.target.value, isNumber));
      }}
    />
  );
}

import { useState } from "react";
import { t } from "../../texts/text.ts";
import { ownZone } from "../base/formats.ts";
import { Labelled } from "../base/labelled.tsx";
import { instantOf, wallTime } from "../base/wall-time.ts";
import { type FieldProps, Frame, messagesOf } from "./field-frame.tsx";
import { aboutOf, type Drawn, titleOf, withNote } from "./schema.ts";
import { useTyped } from "./typed.ts";

type Type = Extract<Drawn, { as: "time" }>["type"];

/** The UTC offset of a time zone now: `+01:00`. */
const offsetOf = (timeZone: string): string =>
  /[+-]\d\d:\d\d$/.exec(
    new Intl.DateTimeFormat("en", { timeZone, timeZoneName: "longOffset" }).format(),
  )?.[0] ?? "Z";

/** Converts the texts of a browser's field to values of a form, and back. */
function clockOf(type: Type) {
  const zone = ownZone();
  switch (type) {
    case "date":
      return {
        zone: null,
        range: { min: "1000-01-01", max: "9999-12-31" },
        read: (text: string) => text,
        show: (value: string) => wallTime(value, "UTC").slice(0, "2026-01-31".length),
      };
    case "time": {
      const offset = offsetOf(zone);
      return {
        zone: `${zone}, ${offset}`,
        range: {},
        read: (text: string) => `${text}:00${offset}`,
        show: (value: string) => value.slice(0, "00:00".length),
      };
    }
    default:
      return {
        zone,
        range: { min: "1000-01-01T00:00", max: "9999-12-31T23:59" },
        read: (text: string) => instantOf(text, zone) ?? text,
        show: (value: string) => wallTime(value, zone),
      };
  }
}

const inRange = (time: string, { min = time, max = time }) => min <= time && time <= max;

/** A date or time. One that the browser's field wouldn't show exactly, or not at all, is edited as text. */
export function TimeField({
  name,
  schema,
  isRequired,
  value,
  faults,
  onChange,
  type,
}: FieldProps & { type: Type }) {
  const { zone, range, read, show } = clockOf(type);
  const written = value === undefined || value === null ? "" : String(value);
  const parse = (time: string) => Date.parse(type === "time" ? `2026-01-01T${time}` : time);
  const [isText] = useState(() => {
    const time = show(written);
    return written !== "" && !(parse(read(time)) === parse(written) && inRange(time, range));
  });
  const [text, setTyped] = useTyped(
    value,
    (typed) => (typed === "" ? undefined : read(typed)),
    show(written),
  );
  const about = zone !== null && !isText ? t("{zone} (your time zone)", { zone }) : null;
  return (
    <Labelled
      label={titleOf(name, schema)}
      isRequired={isRequired}
      about={withNote(aboutOf(schema), about)}
      fault={messagesOf(faults)}
    >
      {(wiring) => (
        <input
          {...wiring}
          className="field"
          type={isText ? "text" : type}
          {...range}
          value={isText ? written : text}
          onChange={({ target }) => {
            setTyped(target.value);
            onChange(target.value === "" ? undefined : isText ? target.value : read(target.value));
          }}
          // a time that clocks skip becomes another
          onBlur={() => setTyped("")}
        />
      )}
    </Labelled>
  );
}

/** A list of options, as checkboxes. */
export function Choices({
  name,
  schema,
  isRequired,
  value,
  faults,
  onChange,
  options,
}: FieldProps & { options: Extract<Drawn, { as: "choices" }>["options"] }) {
  const picked: readonly unknown[] = Array.isArray(value) ? value : [];
  return (
    <Frame
      title={titleOf(name, schema)}
      isRequired={isRequired}
      about={aboutOf(schema)}
      fault={messagesOf(faults)}
    >
      <div className="flex flex-wrap gap-x-5 gap-y-2">
        {options.map((option) => (
          <label key={option.value} className="flex items-center gap-2 text-sm" title={option.about}>
            <input
              type="checkbox"
              className="size-4 accent-accent"
              aria-invalid={faults.length > 0 || undefined}
              checked={picked.includes(option.is)}
              onChange={({ target }) => {
                const next = options.filter(({ is }) =>
                  is === option.is ? target.checked : picked.includes(is),
                );
                onChange(next.length > 0 ? next.map(({ is }) => is) : undefined);
              }}
            />
            {option.name ?? option.value}
          </label>
        ))}
      </div>
    </Frame>
  );
}

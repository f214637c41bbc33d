import { type ReactNode, useId } from "react";
import { Coded } from "./coded.tsx";
import { useHasLines } from "./lines.ts";

interface Wiring {
  id: string;
  "aria-invalid": true | undefined;
  "aria-describedby": string | undefined;
  "aria-required": true | undefined;
}

interface Props {
  label: string;
  isRequired?: boolean;
  about?: string | null;
  /** Error message. */
  fault?: string | undefined;
  children: (wiring: Wiring) => ReactNode;
}

export const RequiredStar = () => (
  <span className="ml-0.5 text-bad" aria-hidden>
    *
  </span>
);

/** A field with its label, description and error, linked for assistive technology. */
export function Labelled({ label, isRequired = false, about, fault, children }: Props) {
  const id = useId();
  const described = [fault ? `${id}-fault` : "", about ? `${id}-about` : ""].filter(Boolean).join(" ");
  return (
    <div>
      <label htmlFor={id} className="mb-1 block text-sm font-medium">
        {label}
        {isRequired && <RequiredStar />}
      </label>
      {children({
        id,
        "aria-invalid": fault ? true : undefined,
        "aria-describedby": described || undefined,
        "aria-required": isRequired || undefined,
      })}
      {fault && (
        <p id={`${id}-fault`} className="mt-1 text-xs text-bad">
          <Coded text={fault} />
        </p>
      )}
      {about && (
        <p id={`${id}-about`} className="mt-1 text-xs text-soft">
          <Coded text={about} />
        </p>
      )}
    </div>
  );
}

interface TextProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  isRequired?: boolean;
  about?: string;
  fault?: string | undefined;
  type?: "text" | "password" | "email";
  placeholder?: string;
  maxLength?: number;
  autoFocus?: boolean;
  /** ID of a `datalist` with suggestions. */
  list?: string;
}

export function TextField({
  label,
  value,
  onChange,
  isRequired = false,
  about,
  fault,
  autoFocus,
  ...rest
}: TextProps) {
  const hasLines = useHasLines(value);
  return (
    <Labelled label={label} isRequired={isRequired} about={about ?? null} fault={fault}>
      {(wiring) =>
        hasLines ? (
          <textarea
            {...wiring}
            rows={3}
            className="field"
            maxLength={rest.maxLength}
            value={value}
            onChange={(event) => onChange(event.target.value)}
          />
        ) : (
          <input
            {...wiring}
            {...rest}
            // biome-ignore lint/a11y/noAutofocus: only for the first field of a form that was just opened
            autoFocus={autoFocus}
            className="field"
            autoComplete="off"
            value={value}
            onChange={(event) => onChange(event.target.value)}
          />
        )
      }
    </Labelled>
  );
}

import { Labelled } from "./labelled.tsx";

interface CheckProps {
  label: string;
  about?: string;
  value: boolean;
  onChange: (value: boolean) => void;
  isDisabled?: boolean;
}

export function Check({ label, about, value, onChange, isDisabled = false }: CheckProps) {
  return (
    <label className="flex items-start gap-2.5 text-sm">
      <input
        type="checkbox"
        className="mt-0.5"
        checked={value}
        disabled={isDisabled}
        onChange={({ target: { checked } }) => onChange(checked)}
      />
      <span>
        <span className="block font-medium">{label}</span>
        {about && <span className="block text-xs text-soft">{about}</span>}
      </span>
    </label>
  );
}

interface TextProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  fault?: string | undefined;
  about?: string;
  rows?: number;
  isRequired?: boolean;
  isCode?: boolean;
  placeholder?: string;
}

/** Multi-line text. */
export function LongField({ label, fault, about, isRequired = false, isCode = false, ...rest }: TextProps) {
  return (
    <Labelled label={label} isRequired={isRequired} about={about ?? null} fault={fault}>
      {(wiring) => (
        <textarea
          {...wiring}
          dir="auto"
          rows={rest.rows ?? 3}
          placeholder={rest.placeholder}
          spellCheck={!isCode}
          className={`field h-auto py-1.5 ${isCode ? "font-mono text-xs" : ""}`}
          value={rest.value}
          onChange={(event) => rest.onChange(event.target.value)}
        />
      )}
    </Labelled>
  );
}

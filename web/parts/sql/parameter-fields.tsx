import { t } from "../../texts/text.ts";
import { type Parameter, TYPES } from "./parameters.ts";

interface Props {
  names: readonly string[];
  parameters: Readonly<Record<string, Parameter>>;
  onChange: (parameters: Record<string, Parameter>) => void;
}

const INPUTS = {
  text: "text",
  number: "text",
  integer: "text",
  date: "date",
  timestamp: "text",
} as const;

/** Fields for the values of `$name` parameters, each with its type. */
export function ParameterFields({ names, parameters, onChange }: Props) {
  if (names.length === 0) return null;
  return (
    <fieldset className="mt-2 min-w-0 rounded-lg border border-line px-3 pt-1 pb-3">
      <legend className="px-1 text-sm font-medium">{t("Parameters")}</legend>
      <div className="flex flex-wrap gap-x-4 gap-y-2">
        {names.map((name) => {
          const parameter = parameters[name] ?? { type: "text", text: "" };
          const set = (change: Partial<Parameter>) =>
            onChange({ ...parameters, [name]: { ...parameter, ...change } });
          return (
            <div key={name} className="flex flex-wrap items-center gap-1.5 text-sm">
              <code className="font-mono text-xs">${name}</code>
              <select
                aria-label={t("Type of {name}", { name })}
                className="field w-auto"
                value={parameter.type}
                onChange={(event) => set({ type: event.target.value as Parameter["type"], text: "" })}
              >
                {Object.entries(TYPES).map(([id, label]) => (
                  <option key={id} value={id}>
                    {label}
                  </option>
                ))}
              </select>
              {parameter.type === "boolean" ? (
                <select
                  aria-label={t("Value of {name}", { name })}
                  className="field w-auto"
                  value={parameter.text}
                  onChange={(event) => set({ text: event.target.value })}
                >
                  <option value="">NULL</option>
                  <option value="true">true</option>
                  <option value="false">false</option>
                </select>
              ) : (
                <input
                  aria-label={t("Value of {name}", { name })}
                  className="field w-40"
                  type={INPUTS[parameter.type]}
                  inputMode={
                    parameter.type === "number" || parameter.type === "integer" ? "decimal" : undefined
                  }
                  placeholder="NULL"
                  value={parameter.text}
                  onChange={(event) => set({ text: event.target.value })}
                />
              )}
            </div>
          );
        })}
      </div>
    </fieldset>
  );
}

import { ChevronRight } from "lucide-react";
import { useId } from "react";
import { useApi } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { nounName } from "../events/words.ts";

interface Props {
  /** Patterns: `action.failed`, `action.*`, `*`. */
  value: readonly string[];
  onChange: (value: string[]) => void;
  fault?: string | undefined;
}

/** Selects events: all, all of a group, or individual ones. */
export function EventPicker({ value, onChange, fault }: Props) {
  const id = useId();
  const meta = useApi("GET /api/v1/meta", {}, { isFixed: true });
  const types = meta.data?.eventTypes ?? [];
  const groups = [...new Set(types.map((type) => type.split(".")[0] ?? ""))];
  const isAll = value.includes("*");
  const without = (...gone: readonly string[]) => value.filter((each) => !gone.includes(each));
  const put = (pattern: string, isOn: boolean) =>
    onChange(isOn ? [...without(pattern), pattern] : without(pattern));
  return (
    <fieldset aria-describedby={fault ? `${id}-fault` : undefined} className="min-w-0">
      <legend className="mb-1 text-sm font-medium">{t("Events")}</legend>
      {fault && (
        <p id={`${id}-fault`} role="alert" className="mb-1 text-xs text-bad">
          {fault}
        </p>
      )}
      <div className={`rounded-md border ${fault ? "border-bad" : "border-line"}`}>
        <Tick
          label={t("All events")}
          isOn={isAll}
          onTurn={(isOn) => onChange(isOn ? ["*"] : [])}
          className="px-3 py-2 font-medium"
        />
        {!isAll &&
          groups.map((group) => {
            const own = types.filter((type) => type.startsWith(`${group}.`));
            const pattern = `${group}.*`;
            const isWhole = value.includes(pattern);
            const count = isWhole ? own.length : own.filter((type) => value.includes(type)).length;
            return (
              <details key={group} className="group border-t border-line">
                <summary className="flex items-center gap-2 px-3 py-1.5 text-sm hover:bg-sunken/60">
                  <ChevronRight size={14} aria-hidden className="shrink-0 text-faint group-open:rotate-90" />
                  <span className="grow">{nounName(group)}</span>
                  <span className={`text-xs tabular-nums ${count > 0 ? "text-accent" : "text-faint"}`}>
                    {isWhole ? t("All") : t("{count} of {total}", { count, total: own.length })}
                  </span>
                </summary>
                <div className="grid gap-x-4 px-3 pb-2 pl-9 sm:grid-cols-2">
                  <Tick
                    label={t("All, including future types: {pattern}", { pattern })}
                    isOn={isWhole}
                    onTurn={(isOn) => onChange([...without(pattern, ...own), ...(isOn ? [pattern] : [])])}
                    className="py-0.5 sm:col-span-2"
                  />
                  {own.map((type) => (
                    <Tick
                      key={type}
                      label={type}
                      isOn={isWhole || value.includes(type)}
                      isFixed={isWhole}
                      onTurn={(isOn) => put(type, isOn)}
                      className="py-0.5"
                    />
                  ))}
                </div>
              </details>
            );
          })}
      </div>
    </fieldset>
  );
}

interface TickProps {
  label: string;
  isOn: boolean;
  isFixed?: boolean;
  onTurn: (isOn: boolean) => void;
  className: string;
}

function Tick({ label, isOn, isFixed = false, onTurn, className }: TickProps) {
  return (
    <label className={`flex items-center gap-2 text-sm ${className}`}>
      <input
        type="checkbox"
        className="size-4 shrink-0 accent-accent"
        checked={isOn}
        disabled={isFixed}
        onChange={(event) => onTurn(event.target.checked)}
      />
      <span className="min-w-0 [overflow-wrap:anywhere]">{label}</span>
    </label>
  );
}

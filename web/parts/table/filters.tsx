import { Search, X } from "lucide-react";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { t } from "../../texts/text.ts";
import { IconButton } from "../base/button.tsx";

const TYPING_MS = 250;

export function FilterBar({ children, onClear }: { children: ReactNode; onClear?: (() => void) | false }) {
  return (
    <search className="flex flex-wrap items-center gap-2 border-b border-line px-3 py-2">
      {children}
      {onClear && (
        <button
          type="button"
          onClick={onClear}
          className="px-1 text-xs text-soft hover:text-ink hover:underline"
        >
          {t("Clear filters")}
        </button>
      )}
    </search>
  );
}

interface SearchProps {
  value: string;
  onChange: (value: string) => void;
  label: string;
}

/** Search text, reported once typing pauses. `/` focuses it. */
export function SearchField({ value, onChange, label }: SearchProps) {
  const [text, setText] = useState(value);
  const tellRef = useRef(onChange);
  tellRef.current = onChange;
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => tellRef.current(text), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text, value]);
  return (
    <div className="relative w-60 max-w-full max-sm:w-full">
      <Search size={14} aria-hidden className="absolute top-2.25 left-2.5 text-faint" />
      <input
        type="search"
        data-search
        className="field pl-8"
        placeholder={label}
        aria-label={label}
        value={text}
        maxLength={255}
        onChange={(event) => setText(event.target.value)}
      />
    </div>
  );
}

interface ChoiceProps {
  label: string;
  value: string;
  options: readonly (readonly [value: string, name: string])[];
  onChange: (value: string) => void;
}

/** One of several values, or any. */
export function Choice({ label, value, options, onChange }: ChoiceProps) {
  return (
    <select
      aria-label={label}
      className={`field w-auto max-w-56 ${value === "" ? "text-soft" : ""}`}
      value={value}
      onChange={(event) => onChange(event.target.value)}
    >
      <option value="">{t("{label}: all", { label })}</option>
      {options.map(([id, name]) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </select>
  );
}

/** A filter that was set elsewhere, with a button to remove it. */
export function Chip({ name, value, onDrop }: { name: string; value: string; onDrop: () => void }) {
  return (
    <span className="inline-flex h-8 items-center gap-1 rounded-md bg-accent-soft pr-0.5 pl-2.5 text-xs">
      <span className="text-soft">{name}</span>
      <span className="max-w-48 truncate font-medium">{value}</span>
      <IconButton icon={X} label={t("Remove filter {name}", { name })} onClick={onDrop} />
    </span>
  );
}

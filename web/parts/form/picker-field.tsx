import { useQueryClient } from "@tanstack/react-query";
import { type KeyboardEvent, useEffect, useId, useState } from "react";
import { flushSync } from "react-dom";
import { t } from "../../texts/text.ts";
import { EvaluatedText } from "../editor/evaluated.tsx";
import { type Pick, type Picker, rememberName, useNameOf, usePicks } from "./pickers.ts";

const TYPING_MS = 150;

interface Props {
  picker: Picker;
  value: string;
  onChange: (value: string) => void;
  /** True if the value must be an ID or an expression. */
  isId: boolean;
  wiring: object;
}

/** A field that is searched by name and stores the ID. Expressions can be typed too. */
export function PickerField({ picker, value, onChange, isId, wiring }: Props) {
  const list = useId();
  const queries = useQueryClient();
  const name = useNameOf(picker, value);
  const [typed, setTyped] = useState<string | null>(null);
  const [sent, setSent] = useState("");
  const first = picker.isForNew ? -1 : 0;
  const [at, setAt] = useState(first);
  /** The text for which Enter was pressed while it was searched. */
  const [awaited, setAwaited] = useState<string | null>(null);
  const isOpen = typed !== null && !typed.includes("{{");
  const found = usePicks(picker, sent, isOpen);
  useEffect(() => {
    const timer = setTimeout(() => setSent((typed ?? "").trim()), TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  const picks = isOpen ? (found.data ?? []) : [];
  const current = Math.min(at, picks.length - 1);
  const pick = (chosen: Pick) => {
    rememberName(queries, picker, chosen);
    onChange(chosen.value);
    setTyped(chosen.isFolder ? `${chosen.value}/` : null);
    setAt(first);
  };
  const text = typed === `${value}/` ? value : (typed ?? "");
  // Typed text without a selection becomes the value if the field accepts more than IDs, or if it can be an ID.
  const canBe = !isId || text === "" || /\{\{|^[0-9a-f-]{36}$/i.test(text);
  const leave = () => {
    if (text !== "" && canBe) onChange(text);
    setTyped(null);
  };
  const isSearching = isOpen && (sent !== typed.trim() || found.isPending);
  const onEnter = () => {
    if (isSearching && !picker.isForNew) return setAwaited(typed);
    const chosen = isSearching ? undefined : picks[current];
    if (chosen) pick(chosen);
    else if (canBe) leave();
    // Otherwise the text stays: it can't be a value.
  };
  useEffect(() => {
    if (awaited === null || isSearching) return;
    setAwaited(null);
    if (awaited === typed) onEnter();
  });
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown" && typed === null) setTyped("");
    else if (event.key === "ArrowDown") setAt((current + 1) % Math.max(picks.length, 1));
    else if (event.key === "ArrowUp")
      setAt((current + picks.length - 1 + (current < 0 ? 1 : 0)) % Math.max(picks.length, 1));
    else if (event.key === "Enter" && typed !== null && (event.ctrlKey || event.metaKey)) {
      flushSync(leave); // before the form is sent
      return;
    } else if (event.key === "Enter" && typed !== null) onEnter();
    else if (event.key === "Escape" && typed !== null) setTyped(null);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div className="relative">
      <input
        {...wiring}
        role="combobox"
        aria-expanded={picks.length > 0}
        aria-controls={list}
        aria-autocomplete="list"
        aria-activedescendant={current >= 0 ? `${list}-${current}` : undefined}
        className="field"
        autoComplete="off"
        spellCheck={false}
        placeholder={picker.label()}
        value={typed ?? name ?? value}
        onFocus={(event) => event.target.select()}
        onClick={() => typed === null && setTyped(picker.isPath ? value : "")}
        onBlur={leave}
        onKeyDown={onKeyDown}
        onChange={({ target: { value: next } }) => {
          setTyped(next);
          setAt(first);
          if (next === "" || next.includes("{{")) onChange(next);
        }}
      />
      {isOpen && (
        <Options
          id={list}
          label={picker.label()}
          of={picks}
          at={current}
          none={isSearching ? t("Searching…") : t("No results")}
          onPick={pick}
        />
      )}
      {!isOpen && <EvaluatedText text={value} as="template" />}
    </div>
  );
}

interface OptionsProps {
  id: string;
  label: string;
  of: readonly Pick[];
  /** The selected one. */
  at: number;
  /** Shown if there are no options. */
  none: string;
  onPick: (option: Pick) => void;
}

function Options({ id, label, of, at, none, onPick }: OptionsProps) {
  return (
    <div
      id={id}
      role="listbox"
      aria-label={label}
      className="absolute top-full left-0 z-20 mt-1 max-h-64 w-full overflow-y-auto rounded-md border border-strong-line bg-raised py-1 shadow-lg"
    >
      {of.map((each, index) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the field above keeps the focus and handles the keys
        <div
          key={`${each.value} ${each.about}`}
          id={`${id}-${index}`}
          role="option"
          aria-selected={index === at}
          tabIndex={-1}
          onMouseDown={(event) => event.preventDefault()} // the field keeps the focus
          onClick={() => onPick(each)}
          className={`flex min-h-8 cursor-pointer items-center gap-3 px-2.5 text-sm ${index === at ? "bg-accent-soft" : ""}`}
        >
          <span className="min-w-0 grow truncate" dir="auto">
            {each.name}
          </span>
          <span className="max-w-[50%] truncate text-xs text-soft" dir="auto">
            {each.about}
          </span>
        </div>
      ))}
      {of.length === 0 && <p className="px-2.5 py-1 text-xs text-soft">{none}</p>}
    </div>
  );
}

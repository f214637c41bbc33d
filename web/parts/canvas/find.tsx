import { ChevronDown, ChevronUp, Search, X } from "lucide-react";
import { type KeyboardEvent, useEffect, useMemo, useRef, useState } from "react";
import { t } from "../../texts/text.ts";
import { IconButton } from "../base/button.tsx";
import type { StepValue } from "./steps-config.ts";

interface Props {
  steps: readonly StepValue[];
  onFound: (found: ReadonlySet<string> | null) => void;
  onShow: (key: string) => void;
  onClose: (key: string | null) => void;
}

/** Steps whose name, key, kind or definition contains the text. */
function findSteps(steps: readonly StepValue[], text: string): string[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return [];
  return steps.filter((step) => JSON.stringify(step).toLowerCase().includes(wanted)).map(({ key }) => key);
}

/** Finds steps on the canvas: Enter goes to the next one, and what doesn't match is dimmed. */
export default function Find({ steps, onFound, onShow, onClose }: Props) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(-1);
  const field = useRef<HTMLInputElement>(null);
  const found = useMemo(() => findSteps(steps, text), [steps, text]);
  useEffect(() => field.current?.focus(), []);
  useEffect(() => {
    onFound(text.trim() === "" ? null : new Set(found));
    return () => onFound(null);
  }, [found, text, onFound]);
  const go = (to: number) => {
    const next = (to + found.length) % Math.max(found.length, 1);
    setAt(next);
    const key = found[next];
    if (key !== undefined) onShow(key);
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "Enter" || event.key === "F3") {
      event.preventDefault();
      go(event.shiftKey ? at - 1 : at + 1);
    }
    if (event.key === "Escape") onClose(found[at] ?? null);
    event.stopPropagation();
  };
  return (
    <search className="absolute top-2 left-2 z-10 flex items-center gap-1 rounded-lg border border-line bg-raised p-1 shadow-lg">
      <Search size={14} aria-hidden className="ml-1.5 text-soft" />
      <input
        ref={field}
        aria-label={t("Find steps")}
        placeholder={t("Name, key or any text")}
        className="h-7 w-44 bg-transparent px-1 text-sm outline-offset-2"
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setAt(-1);
        }}
        onKeyDown={onKey}
      />
      <span role="status" className="min-w-14 text-center text-xs text-soft tabular-nums">
        {text.trim() === ""
          ? ""
          : found.length === 0
            ? t("No steps")
            : t("{count} of {total}", { count: Math.max(at, 0) + 1, total: found.length })}
      </span>
      <IconButton icon={ChevronUp} label={t("Previous result")} onClick={() => go(at - 1)} />
      <IconButton icon={ChevronDown} label={t("Next result")} onClick={() => go(at + 1)} />
      <IconButton
        icon={X}
        label={t("Close search")}
        onClick={() => onClose(found[Math.max(at, 0)] ?? null)}
      />
    </search>
  );
}

import { ChevronRight } from "lucide-react";
import { useState } from "react";
import { t } from "../../texts/text.ts";
import { CopyButton } from "./copy.tsx";
import { counted } from "./time.tsx";

/** Number of items of a list or object to show first. */
const AT_ONCE = 100;
/** Length of a text to show first. */
const TEXT_AT_ONCE = 400;

/** Maximum size at a depth that is expanded at first. */
const OPEN_AT_FIRST = [20];

const isBranch = (value: unknown): value is object => typeof value === "object" && value !== null;

/** An expandable JSON value. Large ones expand in parts. */
export function Tree({ value, copyLabel }: { value: unknown; copyLabel: string }) {
  if (value === null || value === undefined) return <p className="text-sm text-faint">{t("Empty")}</p>;
  return (
    <div className="relative">
      <div className="absolute top-0 right-0">
        <CopyButton text={JSON.stringify(value, null, 2)} label={copyLabel} />
      </div>
      <div className="overflow-x-auto pr-8 font-mono text-xs leading-5">
        {isBranch(value) ? <Children of={value} depth={0} /> : <Leaf value={value} />}
      </div>
    </div>
  );
}

function Children({ of, depth }: { of: object; depth: number }) {
  const [shown, setShown] = useState(AT_ONCE);
  const entries = Object.entries(of);
  if (entries.length === 0) return <span className="text-faint">{Array.isArray(of) ? "[ ]" : "{ }"}</span>;
  return (
    <ul>
      {entries.slice(0, shown).map(([name, value]) => (
        <li key={name}>
          <Entry name={name} value={value} depth={depth} />
        </li>
      ))}
      {entries.length > shown && (
        <li>
          <button
            type="button"
            className="pl-4 text-accent hover:underline"
            onClick={() => setShown(shown + AT_ONCE)}
          >
            {t("Show {count} more", { count: counted(Math.min(AT_ONCE, entries.length - shown)) })}
          </button>
        </li>
      )}
    </ul>
  );
}

function Entry({ name, value, depth }: { name: string; value: unknown; depth: number }) {
  const size = isBranch(value) ? Object.keys(value).length : 0;
  const [isOpen, setOpen] = useState(size <= (OPEN_AT_FIRST[depth] ?? 0));
  if (!isBranch(value)) {
    return (
      <div className="flex gap-1.5 pl-4">
        <span className="shrink-0 text-code-key">{name}:</span>
        <Leaf value={value} />
      </div>
    );
  }
  return (
    <div>
      <button
        type="button"
        aria-expanded={isOpen}
        className="flex min-h-6 items-center rounded hover:bg-sunken"
        onClick={() => setOpen(!isOpen)}
      >
        <ChevronRight
          size={13}
          aria-hidden
          className={`mr-0.5 shrink-0 text-faint ${isOpen ? "rotate-90" : ""}`}
        />
        <span className="text-code-key">{name}</span>
        <span className="ml-1.5 text-faint">{Array.isArray(value) ? `[${size}]` : `{${size}}`}</span>
      </button>
      {isOpen && (
        <div className="ml-1.5 border-l border-line pl-2">
          <Children of={value} depth={depth + 1} />
        </div>
      )}
    </div>
  );
}

function Leaf({ value }: { value: unknown }) {
  const [isWhole, setWhole] = useState(false);
  if (typeof value !== "string") {
    return <span className={value === null ? "text-faint" : "text-code-number"}>{String(value)}</span>;
  }
  const isCut = value.length > TEXT_AT_ONCE && !isWhole;
  return (
    <span className="whitespace-pre-wrap text-code-text [overflow-wrap:anywhere]" dir="auto">
      "{isCut ? value.slice(0, TEXT_AT_ONCE) : value}"
      {isCut && (
        <button type="button" className="ml-1 text-accent hover:underline" onClick={() => setWhole(true)}>
          {t("… show {count} more characters", { count: counted(value.length - TEXT_AT_ONCE) })}
        </button>
      )}
    </span>
  );
}

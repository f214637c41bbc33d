import { type KeyboardEvent, type SyntheticEvent, useContext, useId, useRef, useState } from "react";
import { t } from "../../texts/text.ts";
import { useHasLines } from "../base/lines.ts";
import { refusing } from "../base/problem.ts";
import { EvaluatedText } from "./evaluated.tsx";
import { fitting, openTemplate, TemplatePaths } from "./template-paths.ts";

const MOST = 8;
/** Matches a partial name in a condition. */
const NAME = /[A-Za-z_][\w.$@\-[\]"]*$/;

interface Props {
  value: string;
  onChange: (value: string) => void;
  /** Conditions refer to values without braces. */
  as?: "template" | "condition";
  isLong?: boolean;
  className?: string;
  placeholder?: string;
  inputMode?: "decimal" | undefined;
  /** Why its form can't be sent. */
  problem?: string | null;
  id?: string;
  "aria-label"?: string;
  "aria-invalid"?: true | undefined;
  "aria-describedby"?: string | undefined;
  "aria-required"?: true | undefined;
}

interface Offer {
  name: string;
  shows: string;
}

/** A field for text with templates. After `{{` it completes values of the last run. */
export function TemplateText(props: Props) {
  const { value, onChange, as = "template", isLong, className = "", problem, ...rest } = props;
  const paths = useContext(TemplatePaths);
  const list = useId();
  const field = useRef<HTMLInputElement & HTMLTextAreaElement>(null);
  const hasLines = useHasLines(value);
  const refusal = refusing(problem);
  const [from, setFrom] = useState(-1);
  const [at, setAt] = useState(0);
  const caret = field.current?.selectionStart ?? value.length;
  const written = value.slice(from, caret);
  const found =
    from < 0
      ? []
      : fitting(
          paths.map(({ path, condition, shows }) => ({ name: as === "template" ? path : condition, shows })),
          written,
          MOST,
        );
  const isDone = found.length === 1 && found[0]?.name === written;
  const offers: readonly Offer[] = isDone ? [] : found;
  const highlight = ({
    currentTarget: { value: text, selectionStart },
  }: SyntheticEvent<HTMLInputElement | HTMLTextAreaElement>) => {
    const end = selectionStart ?? text.length;
    const name = as === "condition" ? NAME.exec(text.slice(0, end)) : null;
    setFrom(as === "template" ? openTemplate(text, end) : (name?.index ?? -1));
    setAt(0);
  };
  const pick = ({ name }: Offer) => {
    const rest = value.slice(caret);
    const end = as === "condition" || /^\s*\}\}/.test(rest) ? "" : "}}";
    onChange(value.slice(0, from) + name + end + rest);
    const to = from + name.length + end.length;
    setFrom(-1);
    requestAnimationFrame(() => field.current?.setSelectionRange(to, to));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (offers.length === 0) return;
    const chosen = offers[at];
    if (event.key === "ArrowDown") setAt((at + 1) % offers.length);
    else if (event.key === "ArrowUp") setAt((at + offers.length - 1) % offers.length);
    else if ((event.key === "Enter" || event.key === "Tab") && chosen && !event.ctrlKey && !event.metaKey)
      pick(chosen);
    else if (event.key === "Escape") setFrom(-1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const wiring = {
    ...rest,
    ...refusal,
    ref: (element: (HTMLInputElement & HTMLTextAreaElement) | null) => {
      field.current = element;
      refusal.ref(element);
    },
    value,
    spellCheck: false,
    autoComplete: "off",
    className: `field ${className}`,
    "data-as": as,
    "aria-autocomplete": "list" as const,
    "aria-controls": offers.length > 0 ? list : undefined,
    "aria-activedescendant": offers.length > 0 ? `${list}-${at}` : undefined,
    onBlur: () => setFrom(-1),
    onKeyDown,
    onChange: (event: SyntheticEvent<HTMLInputElement | HTMLTextAreaElement>) => {
      onChange(event.currentTarget.value);
      highlight(event);
    },
  };
  return (
    <div className="relative grow">
      {isLong || hasLines ? <textarea {...wiring} rows={3} /> : <input {...wiring} type="text" />}
      {offers.length > 0 && <Offers id={list} of={offers} at={at} onPick={pick} />}
      {offers.length === 0 && <EvaluatedText text={value} as={as} />}
    </div>
  );
}

interface OffersProps {
  id: string;
  of: readonly Offer[];
  /** The selected one. */
  at: number;
  onPick: (offer: Offer) => void;
}

function Offers({ id, of, at, onPick }: OffersProps) {
  return (
    <div
      id={id}
      role="listbox"
      aria-label={t("Values from the last run")}
      className="absolute top-full left-0 z-20 mt-1 max-h-64 min-w-full sm:w-max sm:max-w-lg overflow-y-auto rounded-md border border-strong-line bg-raised py-1 shadow-lg"
    >
      {of.map((offer, index) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the field above keeps the focus and handles the keys
        <div
          key={offer.name}
          id={`${id}-${index}`}
          role="option"
          aria-selected={index === at}
          tabIndex={-1}
          onMouseDown={(event) => event.preventDefault()} // the field keeps the focus
          onClick={() => onPick(offer)}
          className={`flex cursor-pointer gap-3 px-2.5 py-1 font-mono text-xs ${index === at ? "bg-accent text-on-accent" : ""}`}
        >
          <span className="max-w-[75%] shrink-0 truncate">{offer.name}</span>
          <span className={`ml-auto min-w-0 truncate ${index === at ? "" : "text-faint"}`} dir="auto">
            {offer.shows}
          </span>
        </div>
      ))}
    </div>
  );
}

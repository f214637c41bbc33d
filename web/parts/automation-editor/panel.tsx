import { Maximize2, Minimize2, Play, Trash2, X } from "lucide-react";
import { type FocusEvent, type KeyboardEvent, type ReactNode, useEffect, useRef } from "react";
import { t } from "../../texts/text.ts";
import { Button, IconButton } from "../base/button.tsx";

export type PanelTab = "input" | "settings" | "output";

interface Props {
  name: string;
  tab: PanelTab;
  onTab: (tab: PanelTab) => void;
  isWide: boolean;
  /** Null if there is no room for it. */
  onWide: (() => void) | null;
  /** Null if the step can't be run or removed. */
  onRunTo: (() => void) | null;
  onRemove: (() => void) | null;
  onClose: () => void;
  /** Increased with each request for the focus. */
  focus: number;
  parts: Readonly<Record<PanelTab, ReactNode>>;
}

const TABS: readonly (readonly [PanelTab, string])[] = [
  ["input", t("Input")],
  ["settings", t("Settings")],
  ["output", t("Output")],
];

/** Scrolls a field that got the focus by keyboard into view. After a click, nothing moves under the pointer. */
const showWhole = ({ target }: FocusEvent<HTMLElement>) => {
  if (target.matches(":focus-visible")) target.scrollIntoView({ block: "nearest" });
};

/**
 * The selected step next to the canvas: input, settings and output.
 * Each keeps its scroll position, and loads nothing before it is opened.
 */
export function StepPanel(props: Props) {
  const { name, tab, onTab, isWide, onWide, onRunTo, onRemove, onClose, focus, parts } = props;
  const box = useRef<HTMLElement>(null);
  const tabs = TABS.filter(([id]) => parts[id] !== null);
  const opened = useRef(new Set<PanelTab>()).current;
  opened.add(tab);
  useEffect(() => {
    if (focus === 0) return;
    const body = box.current?.querySelector("[data-part]:not([hidden])");
    const first = body?.querySelector<HTMLElement>("input, textarea, select, button");
    (first ?? box.current)?.focus();
  }, [focus]);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape" && !event.defaultPrevented) {
      event.preventDefault();
      onClose();
    }
  };
  return (
    <section
      ref={box}
      tabIndex={-1}
      aria-label={t("Step {name}", { name })}
      onKeyDown={onKeyDown}
      onFocus={showWhole}
      className={`flex min-h-0 flex-col border-line bg-raised outline-none ${isWide ? "absolute inset-0 z-20" : "max-sm:h-3/5 max-sm:min-h-80 max-sm:border-t sm:w-[25rem] sm:shrink-0 sm:border-l xl:w-[27.5rem]"}`}
    >
      <div className="flex items-center gap-1 border-b border-line py-1.5 pr-1.5 pl-4">
        <h2 className="min-w-0 grow truncate text-sm font-semibold" dir="auto">
          {name}
        </h2>
        {onRunTo && (
          <Button kind="quiet" icon={Play} onClick={onRunTo}>
            {t("Run to here")}
          </Button>
        )}
        {onRemove && <IconButton icon={Trash2} label={t("Remove step")} onClick={onRemove} />}
        {onWide && (
          <IconButton
            icon={isWide ? Minimize2 : Maximize2}
            label={isWide ? t("Show next to the canvas") : t("Show input, settings and output")}
            className="max-sm:hidden"
            onClick={onWide}
          />
        )}
        <IconButton icon={X} label={t("Close step")} onClick={onClose} />
      </div>
      {!isWide && (
        <nav aria-label={t("Parts of the step")} className="flex gap-1 border-b border-line px-2">
          {tabs.map(([id, title]) => (
            <button
              key={id}
              type="button"
              aria-current={tab === id ? "true" : undefined}
              onClick={() => onTab(id)}
              className={`-mb-px border-b-2 px-3 py-1.5 text-sm ${tab === id ? "border-accent font-medium text-ink" : "border-transparent text-soft hover:text-ink"}`}
            >
              {title}
            </button>
          ))}
        </nav>
      )}
      <div className={`min-h-0 grow ${isWide ? "grid grid-cols-[1fr_1.4fr_1fr]" : "relative"}`}>
        {tabs.map(([id, title]) => (
          <div
            key={id}
            data-part={id}
            hidden={!isWide && tab !== id}
            className={`scroll-py-12 overflow-y-auto p-4 ${isWide ? "border-l border-line first:border-l-0" : "absolute inset-0"}`}
          >
            {isWide && <h3 className="mb-3 text-sm font-semibold">{title}</h3>}
            {(isWide || opened.has(id)) && parts[id]}
          </div>
        ))}
      </div>
    </section>
  );
}

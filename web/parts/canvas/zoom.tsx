import { Panel, useReactFlow, useStore } from "@xyflow/react";
import { ArrowDown, ArrowRight, Keyboard, Map as MapIcon, Scan, Search, Sparkles } from "lucide-react";
import { t } from "../../texts/text.ts";

const reduced = matchMedia("(prefers-reduced-motion: reduce)");
export const glide = () => ({ duration: reduced.matches ? 0 : 180 });

interface Props {
  onFit: () => void;
  hasMap: boolean;
  onMap: () => void;
  onFind: () => void;
  isAcross: boolean;
  /** Undefined if positions can't be changed. */
  onTurn: (() => void) | undefined;
  /** Null if nothing can be tidied up. */
  onTidy: (() => void) | null;
  /** Shows the shortcuts. */
  onHelp: (() => void) | null;
}

const BUTTON = "grid h-8 min-w-8 place-items-center px-2 text-soft hover:bg-sunken hover:text-ink";

export function Zoom({ onFit, hasMap, onMap, onFind, isAcross, onTurn, onTidy, onHelp }: Props) {
  const Direction = isAcross ? ArrowRight : ArrowDown;
  const flow = useReactFlow();
  const zoom = useStore(({ transform }) => Math.round(transform[2] * 100));
  return (
    <Panel
      position="bottom-left"
      className="m-2! flex items-center overflow-hidden rounded-lg border border-line bg-raised text-xs"
    >
      <button
        type="button"
        className={BUTTON}
        aria-label={t("Zoom out")}
        onClick={() => void flow.zoomOut(glide())}
      >
        −
      </button>
      <button
        type="button"
        className={`${BUTTON} w-14 tabular-nums`}
        title={t("Zoom to 100%")}
        onClick={() => void flow.zoomTo(1, glide())}
      >
        <span className="sr-only">{t("Zoom, now")} </span>
        {zoom}%
      </button>
      <button
        type="button"
        className={BUTTON}
        aria-label={t("Zoom in")}
        onClick={() => void flow.zoomIn(glide())}
      >
        +
      </button>
      <button type="button" className={`${BUTTON} border-l border-line`} onClick={onFit}>
        <Scan size={14} aria-hidden className="sm:hidden" />
        <span className="max-sm:sr-only">{t("Fit")}</span>
      </button>
      <button
        type="button"
        className={`${BUTTON} border-l border-line`}
        aria-label={t("Minimap")}
        aria-pressed={hasMap}
        title={t("Minimap (M)")}
        onClick={onMap}
      >
        <MapIcon size={14} aria-hidden className={hasMap ? "text-accent" : ""} />
      </button>
      <button
        type="button"
        className={`${BUTTON} border-l border-line`}
        aria-label={t("Find steps")}
        title={t("Find steps (Ctrl+F)")}
        onClick={onFind}
      >
        <Search size={14} aria-hidden />
      </button>
      {onTurn && (
        <button
          type="button"
          className={`${BUTTON} border-l border-line`}
          aria-label={t("Steps from left to right")}
          aria-pressed={isAcross}
          title={isAcross ? t("Steps from top to bottom") : t("Steps from left to right")}
          onClick={onTurn}
        >
          <Direction size={14} aria-hidden />
        </button>
      )}
      {onTidy && (
        <button
          type="button"
          className="flex h-8 items-center gap-1.5 border-l border-line px-2 whitespace-nowrap text-soft hover:bg-sunken hover:text-ink"
          title={t("Arrange all steps again (Shift+T)")}
          onClick={onTidy}
        >
          <Sparkles size={14} aria-hidden />
          <span className="max-sm:sr-only">{t("Tidy up")}</span>
        </button>
      )}
      {onHelp && (
        <button
          type="button"
          className={`${BUTTON} border-l border-line max-sm:hidden`}
          aria-label={t("Keyboard shortcuts")}
          title={t("Keyboard shortcuts (?)")}
          onClick={onHelp}
        >
          <Keyboard size={14} aria-hidden />
        </button>
      )}
    </Panel>
  );
}

import { useEffect, useRef } from "react";
import { t } from "../../texts/text.ts";
import { keyNames } from "../base/key-names.ts";
import { TRIGGER } from "./config.ts";
import { COMMANDS, type StepCommands } from "./keyboard.ts";

interface Props {
  /** Position in the window. */
  at: { x: number; y: number };
  step: string;
  selected: ReadonlySet<string>;
  commands: StepCommands;
  mayChange: boolean;
  onClose: () => void;
}

const MENU_WIDTH = 300;

/** The menu of a step, with the commands of its shortcuts. */
export default function StepMenu({ at, step, selected, commands, mayChange, onClose }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const items = COMMANDS.filter(
    ({ mayOnly, forTrigger }) => (mayChange || !mayOnly) && (step !== TRIGGER || forTrigger),
  );
  useEffect(() => {
    const entries = () => [...(box.current?.querySelectorAll<HTMLElement>("[role=menuitem]") ?? [])];
    entries()[0]?.focus();
    const away = (event: PointerEvent) => {
      if (!box.current?.contains(event.target as Node)) onClose();
    };
    const onKey = (event: KeyboardEvent) => {
      const all = entries();
      const now = all.indexOf(document.activeElement as HTMLElement);
      if (event.key === "Escape" || event.key === "Tab") {
        event.preventDefault();
        onClose();
        document
          .querySelector<HTMLElement>(`[data-step="${CSS.escape(step)}"]`)
          ?.focus({ preventScroll: true });
      } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        event.preventDefault();
        all[(now + (event.key === "ArrowDown" ? 1 : -1) + all.length) % all.length]?.focus();
      }
    };
    document.addEventListener("pointerdown", away);
    document.addEventListener("keydown", onKey);
    return () => {
      document.removeEventListener("pointerdown", away);
      document.removeEventListener("keydown", onKey);
    };
  }, [onClose, step]);
  const top = Math.max(8, Math.min(at.y, innerHeight - items.length * 32 - 16));
  return (
    <div
      ref={box}
      role="menu"
      aria-label={t("Step")}
      className="fixed z-40 rounded-lg border border-strong-line bg-raised p-1 shadow-xl"
      style={{ left: Math.max(8, Math.min(at.x, innerWidth - MENU_WIDTH - 8)), top, width: MENU_WIDTH }}
    >
      {items.map(({ name, keys, isBad, run }) => (
        <button
          key={name}
          type="button"
          role="menuitem"
          tabIndex={-1}
          onClick={() => {
            onClose();
            run(commands, step, selected.has(step) ? selected : new Set([step]));
          }}
          className={`flex h-8 w-full items-center gap-2 rounded-md px-2 text-left text-sm hover:bg-sunken focus:bg-sunken focus:outline-none ${isBad ? "text-bad" : ""}`}
        >
          <span className="grow">{name}</span>
          <kbd className="font-sans text-xs text-faint">{keyNames(keys)}</kbd>
        </button>
      ))}
    </div>
  );
}

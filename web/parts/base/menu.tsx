import type { LucideIcon } from "lucide-react";
import { type ReactNode, useEffect, useId, useRef, useState } from "react";

interface Item {
  name: string;
  icon?: LucideIcon;
  /** Shown on the right, such as an icon or a shortcut. */
  aside?: ReactNode;
  isBad?: boolean;
  isDisabled?: boolean;
  onPick: () => void;
}

interface Props {
  /** Accessible name of the menu, and of a button without text. */
  label: string;
  hasText?: boolean;
  button: ReactNode;
  buttonClass: string;
  items: readonly (Item | "line")[];
  /** The edge of the button that the menu is aligned with. */
  align?: "left" | "right";
  opens?: "up" | "down";
}

/** A button with a menu, for pointer and keyboard: arrow keys move, Enter selects, Escape closes. */
export function Menu({
  label,
  hasText = false,
  button,
  buttonClass,
  items,
  align = "left",
  opens = "down",
}: Props) {
  const [isOpen, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const id = useId();

  useEffect(() => {
    if (!isOpen) return;
    const entries = () => [...(box.current?.querySelectorAll<HTMLElement>("[role=menuitem]") ?? [])];
    entries()[0]?.focus();
    const away = (event: PointerEvent) => {
      if (!box.current?.contains(event.target as Node)) setOpen(false);
    };
    const onKey = (event: KeyboardEvent) => {
      const all = entries();
      const at = all.indexOf(document.activeElement as HTMLElement);
      if (event.key === "Escape" || event.key === "Tab") {
        setOpen(false);
        box.current?.querySelector<HTMLElement>("button")?.focus();
        if (event.key === "Escape") event.preventDefault();
      } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        event.preventDefault();
        const step = event.key === "ArrowDown" ? 1 : -1;
        all[(at + step + all.length) % all.length]?.focus();
      }
    };
    document.addEventListener("pointerdown", away);
    document.addEventListener("keydown", onKey);
    return () => {
      document.removeEventListener("pointerdown", away);
      document.removeEventListener("keydown", onKey);
    };
  }, [isOpen]);

  return (
    <div ref={box} className="relative">
      <button
        type="button"
        aria-label={hasText ? undefined : label}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        aria-controls={isOpen ? id : undefined}
        className={buttonClass}
        onClick={() => setOpen(!isOpen)}
      >
        {button}
      </button>
      {isOpen && (
        <div
          id={id}
          role="menu"
          aria-label={label}
          className={`absolute z-40 max-h-96 min-w-48 overflow-y-auto rounded-lg border border-strong-line bg-raised p-1 shadow-xl ${align === "left" ? "left-0" : "right-0"} ${opens === "down" ? "top-full mt-1" : "bottom-full mb-1"}`}
        >
          {items.map((item, at) =>
            item === "line" ? (
              // biome-ignore lint/suspicious/noArrayIndexKey: separators have no IDs
              <hr key={at} className="my-1 border-line" />
            ) : (
              <button
                key={item.name}
                type="button"
                role="menuitem"
                tabIndex={-1}
                disabled={item.isDisabled}
                onClick={() => {
                  setOpen(false);
                  item.onPick();
                }}
                className={`flex w-full items-center gap-2 rounded-md px-2 py-1.5 text-left text-sm focus:bg-sunken focus:outline-none enabled:hover:bg-sunken disabled:opacity-50 ${item.isBad ? "text-bad" : ""}`}
              >
                {item.icon && <item.icon size={15} aria-hidden className="shrink-0 opacity-80" />}
                <span className="grow truncate">{item.name}</span>
                {item.aside}
              </button>
            ),
          )}
        </div>
      )}
    </div>
  );
}

import { X } from "lucide-react";
import { type ReactNode, useEffect, useId, useRef, useState } from "react";
import { rich } from "../../texts/rich.ts";
import { t } from "../../texts/text.ts";
import { Button, IconButton } from "./button.tsx";

interface Props {
  title: string;
  onClose: () => void;
  children: ReactNode;
  /** Buttons, with the main one last. */
  foot?: ReactNode;
  isWide?: boolean;
}

const isBusy = (dialog: Element | null) => Boolean(dialog?.querySelector("button[aria-busy]"));

/**
 * A modal dialog. The browser traps the focus. Escape closes it, but not while one of its buttons is busy, so that an
 * error is shown.
 */
export function Dialog({ title, onClose, children, foot, isWide = false }: Props) {
  const ref = useRef<HTMLDialogElement>(null);
  const name = useId();
  useEffect(() => {
    const before = document.activeElement;
    ref.current?.showModal();
    // Browsers close a dialog whose `cancel` event is ignored twice.
    const ignore = (event: KeyboardEvent) => {
      const isOnTop = [...document.querySelectorAll("dialog[open]")].at(-1) === ref.current;
      if (event.key === "Escape" && isOnTop && isBusy(ref.current)) event.preventDefault();
    };
    window.addEventListener("keydown", ignore, true);
    return () => {
      window.removeEventListener("keydown", ignore, true);
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={ref}
      aria-labelledby={name}
      onCancel={(event) => {
        event.preventDefault();
        if (!isBusy(ref.current)) onClose();
      }}
      className={`m-auto max-h-[88vh] w-[calc(100vw-2rem)] flex-col overflow-hidden rounded-xl border border-line bg-raised shadow-2xl open:flex ${isWide ? "max-w-4xl" : "max-w-lg"}`}
    >
      <div className="flex items-center justify-between gap-3 border-b border-line py-2 pr-2 pl-4">
        <h2 id={name} className="min-w-0 truncate font-semibold">
          {title}
        </h2>
        <IconButton icon={X} label={t("Close")} onClick={onClose} />
      </div>
      <div className="min-h-0 grow overflow-y-auto p-4 text-sm">{children}</div>
      {foot && (
        <div className="flex flex-wrap justify-end gap-2 border-t border-line bg-ground px-4 py-2.5">
          {foot}
        </div>
      )}
    </dialog>
  );
}

interface ConfirmProps {
  title: string;
  /** What is deleted, and what depends on it. */
  children: ReactNode;
  /** The action, as a verb: "Delete". */
  verb: string;
  /** Text that must be typed first, for what can't be undone. */
  typed?: string;
  isBusy?: boolean;
  onConfirm: () => void;
  onClose: () => void;
}

/** Confirms a destructive action. */
export function Confirm({ title, children, verb, typed, isBusy = false, onConfirm, onClose }: ConfirmProps) {
  const [text, setText] = useState("");
  return (
    <Dialog
      title={title}
      onClose={onClose}
      foot={
        <>
          <Button onClick={onClose}>{t("Cancel")}</Button>
          <Button
            kind="bad"
            busy={isBusy}
            disabled={typed !== undefined && text !== typed}
            onClick={onConfirm}
          >
            {verb}
          </Button>
        </>
      }
    >
      <div className="space-y-3 text-soft">{children}</div>
      {typed !== undefined && (
        <label className="mt-4 block">
          <span className="mb-1 block">
            {rich("Type {typed} to confirm", { typed: <strong className="font-semibold">{typed}</strong> })}
          </span>
          <input
            className="field"
            value={text}
            autoComplete="off"
            onChange={(event) => setText(event.target.value)}
          />
        </label>
      )}
    </Dialog>
  );
}

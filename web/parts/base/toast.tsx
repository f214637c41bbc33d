import { CircleCheck, OctagonX, X } from "lucide-react";
import { useSyncExternalStore } from "react";
import { t } from "../../texts/text.ts";

interface Toast {
  id: number;
  text: string;
  tone: "good" | "bad";
}

/** Keeps clear of a panel on the right, or at the bottom on phones. */
const BESIDE_PANEL =
  "[body:has([data-panel])_&]:max-sm:top-14 [body:has([data-panel])_&]:max-sm:bottom-auto sm:[body:has([data-panel])_&]:right-[26rem] xl:[body:has([data-panel])_&]:right-[28.5rem]";

const SHOWN_MS = { good: 4000, bad: 9000 };
let toasts: readonly Toast[] = [];
let next = 1;
const watchers = new Set<() => void>();

function set(to: readonly Toast[]): void {
  toasts = to;
  for (const watcher of watchers) watcher();
}

const drop = (id: number) => set(toasts.filter((toast) => toast.id !== id));

/** Shows a message in the corner for a while. */
export function notify(text: string, tone: "good" | "bad" = "good"): void {
  const id = next++;
  set([...toasts.slice(-3), { id, text, tone }]);
  setTimeout(() => drop(id), SHOWN_MS[tone]);
}

export function Toasts() {
  const shown = useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
    () => toasts,
  );
  return (
    <div
      className={`pointer-events-none fixed right-4 bottom-4 z-50 flex w-80 max-w-[calc(100vw-2rem)] flex-col gap-2 ${BESIDE_PANEL}`}
      role="status"
      aria-live="polite"
    >
      {shown.map(({ id, text, tone }) => (
        <div
          key={id}
          className="pointer-events-auto flex items-start gap-2 rounded-lg border border-strong-line bg-raised px-3 py-2 text-sm shadow-lg"
        >
          {tone === "good" ? (
            <CircleCheck size={16} className="mt-0.5 shrink-0 text-good" aria-hidden />
          ) : (
            <OctagonX size={16} className="mt-0.5 shrink-0 text-bad" aria-hidden />
          )}
          <span className="min-w-0 grow break-words">{text}</span>
          <button
            type="button"
            aria-label={t("Dismiss")}
            className="text-faint hover:text-ink"
            onClick={() => drop(id)}
          >
            <X size={14} />
          </button>
        </div>
      ))}
    </div>
  );
}

import { Ban, ChevronDown, ChevronUp, X } from "lucide-react";
import { useState } from "react";
import { Link } from "wouter";
import type { AutomationRun } from "../../calls.ts";
import { t } from "../../texts/text.ts";
import { Button, IconButton } from "../base/button.tsx";
import { INK, Status, StatusIcon, styleOf } from "../base/status.tsx";
import { counted } from "../base/time.tsx";
import { Duration } from "../canvas/node.tsx";
import { stepsInWords } from "../runs/step-counts.ts";

interface Props {
  run: AutomationRun;
  title: string;
  nameOf: (key: string) => string;
  pinned: number;
  onChoose: (key: string) => void;
  onCancel: (() => void) | null;
  onHide: (() => void) | null;
}

/** A run on one line, which expands to a waterfall of its steps. */
export default function TestBar({ run, title, nameOf, pinned, onChoose, onCancel, onHide }: Props) {
  const [isOpen, setOpen] = useState(false);
  const error = (run.error as { message?: string } | null)?.message;
  return (
    <section aria-label={title} className="border-t border-line bg-raised">
      <div className="flex min-h-9 flex-wrap items-center gap-2 px-3 text-sm">
        <span className="font-medium">{title}</span>
        <Status status={run.status} label={run.displayStatus} />
        <span className="text-xs text-soft tabular-nums">
          {stepsInWords(run.steps)}
          {pinned > 0 && `, ${t("{count} pinned", { count: counted(pinned) })}`}
          {run.startedAt && (
            <>
              , <Duration from={run.startedAt} to={run.completedAt} />
            </>
          )}
        </span>
        {error && <span className="min-w-0 grow truncate text-xs text-bad">{error}</span>}
        <span className="grow" />
        {onCancel && (
          <Button kind="quiet" icon={Ban} onClick={onCancel}>
            {t("Cancel run")}
          </Button>
        )}
        <Link href={`/automation-runs/${run.id}`} className="text-xs text-accent hover:underline">
          {t("Open run")}
        </Link>
        <IconButton
          icon={isOpen ? ChevronDown : ChevronUp}
          label={isOpen ? t("Hide timeline") : t("Show timeline")}
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
        />
        {onHide && <IconButton icon={X} label={t("Close test run")} onClick={onHide} />}
      </div>
      {isOpen && <Waterfall run={run} nameOf={nameOf} onChoose={onChoose} />}
    </section>
  );
}

function Waterfall({ run, nameOf, onChoose }: Pick<Props, "run" | "nameOf" | "onChoose">) {
  const times = run.steps.flatMap(({ startedAt, completedAt }) =>
    startedAt ? [Date.parse(startedAt), completedAt ? Date.parse(completedAt) : Date.now()] : [],
  );
  const from = Math.min(...times);
  const span = Math.max(1, Math.max(...times) - from);
  return (
    <ul className="max-h-56 overflow-y-auto border-t border-line px-3 py-1.5">
      {run.steps.map(({ key, status, startedAt, completedAt }) => {
        const start = startedAt ? Date.parse(startedAt) : null;
        const end = completedAt ? Date.parse(completedAt) : Date.now();
        return (
          <li key={key}>
            <button
              type="button"
              onClick={() => onChoose(key)}
              className="flex min-h-7 w-full items-center gap-2 rounded px-1 text-left text-xs hover:bg-sunken"
            >
              <StatusIcon status={status} size={13} />
              <span className="w-40 shrink-0 truncate" dir="auto">
                {nameOf(key)}
              </span>
              <span className={`relative h-2 grow rounded bg-sunken ${INK[styleOf(status).tone]}`}>
                {start !== null && (
                  <span
                    className="absolute inset-y-0 rounded bg-current"
                    style={{
                      left: `${((start - from) / span) * 100}%`,
                      width: `max(3px, ${((end - start) / span) * 100}%)`,
                    }}
                  />
                )}
              </span>
              <span className="w-16 shrink-0 text-right text-soft">
                {startedAt ? <Duration from={startedAt} to={completedAt} /> : styleOf(status).label}
              </span>
            </button>
          </li>
        );
      })}
    </ul>
  );
}

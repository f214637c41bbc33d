import { useEffect, useState } from "react";
import { Link } from "wouter";
import type { AutomationRun, ListedRun } from "../../calls.ts";
import { t } from "../../texts/text.ts";
import { Section } from "../base/page.tsx";
import { StatusIcon, styleOf, type Tone } from "../base/status.tsx";
import { inWords, When } from "../base/time.tsx";
import { linksOf } from "./links.ts";
import { percentOf, progressOf } from "./progress.ts";
import { useStepRuns } from "./step-runs.ts";
import { isOver } from "./time.ts";
import { type StepTimes, spanOf, timesOf } from "./waterfall-times.ts";

type StepState = AutomationRun["steps"][number];

const TICK_MS = 1000;
const POLL_MS = 2000;
const MARKS = [0, 0.5, 1];

const FILL: Readonly<Record<Tone, string>> = {
  good: "bg-good",
  bad: "bg-bad",
  warn: "bg-warn",
  busy: "bg-busy",
  wait: "bg-wait",
  idle: "bg-idle",
};

/** The current time, updated each second while `isLive`. */
function useSeconds(isLive: boolean): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (!isLive) return;
    const timer = setInterval(() => setNow(Date.now()), TICK_MS);
    return () => clearInterval(timer);
  }, [isLive]);
  return isLive ? now : Date.now();
}

interface Props {
  run: AutomationRun;
  /** Name of a step by its key. */
  nameOf: (key: string) => string;
}

/** A bar for each step of a run on a common time axis, updated while it is running. */
export function RunWaterfall({ run, nameOf }: Props) {
  const runs = useStepRuns(run, isOver(run.status) ? {} : { refetchMs: POLL_MS });
  const now = useSeconds(!isOver(run.status));
  const { from, to } = spanOf(run, now);
  const placeOf = (at: number) =>
    `${(Math.min(Math.max((at - from) / (to - from), 0), 1) * 100).toFixed(3)}%`;
  return (
    <Section
      title={t("Timeline")}
      flush
      aside={
        <Link href={`/runs?tab=actions&automation_run=${run.id}`} className="text-accent hover:underline">
          {t("View step runs")}
        </Link>
      }
    >
      <div
        aria-hidden
        className="hidden h-7 items-center border-b border-line px-4 text-xs text-faint sm:flex"
      >
        <span className="w-52 shrink-0" />
        <span className="relative h-4 grow">
          {MARKS.map((mark) => (
            <span
              key={mark}
              className="absolute whitespace-nowrap tabular-nums"
              style={{ left: `${mark * 100}%`, transform: `translateX(-${mark * 100}%)` }}
            >
              {inWords(((to - from) * mark) / 1000)}
            </span>
          ))}
        </span>
        <span className="w-20 shrink-0" />
      </div>
      <ol aria-label={t("Timeline")}>
        {run.steps.map((step) => {
          const action = runs.get(step.actionRunId ?? "");
          const times = timesOf(step, action, from, now);
          return (
            <Row
              key={step.key}
              step={step}
              name={nameOf(step.key)}
              action={action}
              times={times}
              placeOf={placeOf}
            />
          );
        })}
      </ol>
      <Legend />
    </Section>
  );
}

interface RowProps {
  step: StepState;
  name: string;
  action: ListedRun | undefined;
  times: StepTimes;
  placeOf: (at: number) => string;
}

function Row({ step, name, action, times: { segments, seconds, isKept }, placeOf }: RowProps) {
  const { tone } = styleOf(step.status);
  const first = segments[0];
  const last = segments.at(-1);
  return (
    <li className="border-t border-line px-4 py-2 text-sm first:border-t-0">
      <div className="flex flex-wrap items-center gap-x-2 sm:flex-nowrap">
        <span className="flex w-52 min-w-0 shrink-0 items-center gap-2">
          <StatusIcon status={step.status} />
          {step.actionRunId ? (
            <Link
              href={`/runs/${step.actionRunId}`}
              className="truncate font-medium hover:text-accent hover:underline"
            >
              <span dir="auto">{name}</span>
            </Link>
          ) : (
            <span className="truncate font-medium" dir="auto">
              {name}
            </span>
          )}
        </span>
        <span
          aria-hidden
          className="relative order-last h-4 w-full rounded bg-sunken sm:order-none sm:w-auto sm:grow"
        >
          {segments.map(({ phase, from, to }) => (
            <span
              key={phase === "active" ? "active" : `${phase}-${from}`}
              data-phase={phase}
              className={`absolute inset-y-0 min-w-0.75 ${from === first?.from ? "rounded-l" : ""} ${to === last?.to ? "rounded-r" : ""} ${
                phase === "active"
                  ? FILL[tone]
                  : phase === "waiting"
                    ? "bg-wait opacity-60"
                    : "bg-strong-line"
              }`}
              style={{ left: placeOf(from), right: `calc(100% - ${placeOf(to)})` }}
            />
          ))}
        </span>
        <span className="ml-auto w-20 shrink-0 text-right text-xs text-soft tabular-nums">
          {seconds === null ? "–" : inWords(seconds)}
        </span>
      </div>
      <Below step={step} name={name} action={action} isKept={isKept} />
    </li>
  );
}

/** Details below a bar: progress, error and links to what the step has written. */
function Below({
  step,
  name,
  action,
  isKept,
}: Pick<RowProps, "step" | "name" | "action"> & { isKept: boolean }) {
  const { message } = (step.error ?? {}) as { message?: string };
  const links = action ? linksOf(action) : [];
  const progress = action ? progressOf(action) : null;
  const percent = progress && action ? percentOf(action) : null;
  const { items } = step;
  const until = step.status === "waiting" ? step.delayUntil : undefined;
  if (!message && links.length === 0 && !progress && !items && !isKept && !until) return null;
  return (
    <div className="mt-1 flex flex-wrap items-center gap-x-3 gap-y-0.5 text-xs text-soft sm:pl-54">
      {isKept && <span>{t("Result kept from the retried run")}</span>}
      {until && (
        <span>
          {t("Continues")} <When at={until} />
        </span>
      )}
      {items && (
        <span className="tabular-nums">
          {t("{count} of {total} items, {failed} failed", {
            count: items.completed + items.failed,
            total: items.total,
            failed: items.failed,
          })}
        </span>
      )}
      {progress && <span className="tabular-nums">{progress}</span>}
      {percent !== null && (
        <progress
          className="h-1.5 w-24 accent-accent"
          value={percent}
          max={100}
          aria-label={t("Progress of {name}", { name })}
        />
      )}
      {message && (
        <span className="min-w-0 text-bad [overflow-wrap:anywhere]" dir="auto">
          {message}
        </span>
      )}
      {links.map(({ href, name }) => (
        <Link key={href} href={href} className="text-accent hover:underline">
          <span dir="auto">{name}</span>
        </Link>
      ))}
    </div>
  );
}

const LEGEND = [
  ["bg-strong-line", t("Queued")],
  ["bg-wait opacity-60", t("Waiting")],
  ["bg-busy", t("Running")],
] as const;

const Legend = () => (
  <ul
    className="flex gap-4 border-t border-line px-4 py-2 text-xs text-soft"
    aria-label={t("Colors of the bars")}
  >
    {LEGEND.map(([fill, name]) => (
      <li key={name} className="flex items-center gap-1.5">
        <span aria-hidden className={`size-2.5 rounded-sm ${fill}`} />
        {name}
      </li>
    ))}
  </ul>
);

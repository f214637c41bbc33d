import type { ReactNode } from "react";
import { StatusIcon, type StatusWord } from "./status.tsx";
import { exactly, inWords, shortly } from "./time.tsx";

export interface Moment {
  /** Required if two can have the same title and time. */
  id?: string;
  at: string;
  status: StatusWord;
  title: string;
  detail?: ReactNode;
}

/** Events in order, with the time between them. */
export function Timeline({ moments }: { moments: readonly Moment[] }) {
  return (
    <ol className="relative">
      {moments.map(({ id, at, status, title, detail }, index) => {
        const before = moments[index - 1];
        const pause = before ? (Date.parse(at) - Date.parse(before.at)) / 1000 : null;
        const isLast = index === moments.length - 1;
        return (
          <li key={id ?? `${at}-${title}`} className="relative flex gap-3 pb-4 last:pb-0">
            {!isLast && (
              <span aria-hidden className="absolute top-5 bottom-0 left-[7px] w-px bg-strong-line" />
            )}
            <span className="mt-0.5 bg-raised">
              <StatusIcon status={status} />
            </span>
            <div className="min-w-0 text-sm">
              <span className="font-medium">{title}</span>
              <time className="ml-2 text-xs text-soft tabular-nums" dateTime={at} title={exactly(at)}>
                {shortly(at)}
              </time>
              {pause !== null && pause >= 0.001 && (
                <span className="ml-2 text-xs text-faint tabular-nums">+{inWords(pause)}</span>
              )}
              {detail && <div className="mt-0.5 text-xs text-soft [overflow-wrap:anywhere]">{detail}</div>}
            </div>
          </li>
        );
      })}
    </ol>
  );
}

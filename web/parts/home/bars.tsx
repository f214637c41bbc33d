import type { Overview } from "../../calls.ts";
import { t } from "../../texts/text.ts";
import { dateFormat } from "../base/formats.ts";
import { plural } from "../base/plural.ts";
import { counted } from "../base/time.tsx";

export interface Bar {
  since: string;
  until: string;
  good: number;
  bad: number;
}

const HEIGHT = 96;
/** Hours per bar. */
const BAR_HOURS = 3;

/** The overview's hours as bars. The newest bar is complete. */
export const barsOf = (hours: Overview["timeline"]): Bar[] =>
  hours.flatMap(({ since }, at) => {
    if (at % BAR_HOURS !== 0) return [];
    const within = hours.slice(at, at + BAR_HOURS);
    const sum = (count: (hour: (typeof hours)[number]) => number) =>
      within.reduce((total, hour) => total + count(hour), 0);
    const bad = sum(({ failedActionRuns }) => failedActionRuns);
    return [
      { since, until: within.at(-1)?.until ?? since, good: sum(({ actionRuns }) => actionRuns) - bad, bad },
    ];
  });

const hour = dateFormat({ hour: "numeric" });

/** Counts over time, with failures at the bottom in another color and pattern. */
export function Bars({ bars, onPick }: { bars: readonly Bar[]; onPick: (bar: Bar) => void }) {
  const most = Math.max(1, ...bars.map(({ good, bad }) => good + bad));
  const heightOf = (count: number) => (count === 0 ? 0 : Math.max((count / most) * HEIGHT, 3));
  return (
    <ul className="flex items-end gap-1.5">
      {bars.map((bar, at) => {
        const { since, until, good, bad } = bar;
        const label = t("{time}: {runs}, {failed} failed", {
          time: hour().formatRange(new Date(since), new Date(until)),
          runs: plural(good + bad, { one: "# run", other: "# runs" }),
          failed: counted(bad),
        });
        return (
          <li key={since} className="min-w-0 grow">
            <button
              type="button"
              title={label}
              aria-label={label}
              onClick={() => onPick(bar)}
              className="group flex w-full flex-col justify-end rounded hover:bg-sunken"
              style={{ height: HEIGHT + 2 }}
            >
              {good + bad === 0 && <span className="block h-px w-full bg-strong-line" />}
              {good > 0 && (
                <span
                  className={`block w-full bg-accent opacity-75 group-hover:opacity-100 ${bad > 0 ? "rounded-t" : "rounded"}`}
                  style={{ height: heightOf(good) }}
                />
              )}
              {bad > 0 && (
                <span
                  className={`block w-full border-2 border-bad bg-bad-soft ${good > 0 ? "rounded-b" : "rounded"}`}
                  style={{ height: Math.max(heightOf(bad), 5) }}
                />
              )}
            </button>
            <span
              aria-hidden
              className={`mt-1 block truncate text-center text-[0.6875rem] text-faint tabular-nums ${at % 2 === 0 ? "max-sm:overflow-visible" : "max-sm:invisible"}`}
            >
              {hour().format(new Date(since))}
            </span>
          </li>
        );
      })}
    </ul>
  );
}

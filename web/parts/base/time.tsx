import { useSyncExternalStore } from "react";
import { t } from "../../texts/text.ts";
import { dateFormat, numberFormat, relativeFormat } from "./formats.ts";

const TICK_MS = 15_000;
let now = Date.now();
const watchers = new Set<() => void>();
setInterval(() => {
  now = Date.now();
  for (const watcher of watchers) watcher();
}, TICK_MS);

/** Milliseconds since 1970, updated every 15 s. */
export const useNow = (): number =>
  useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
    () => now,
  );

const STEPS: readonly (readonly [unit: Intl.RelativeTimeFormatUnit, seconds: number])[] = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["week", 604_800],
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
];
const relative = relativeFormat({ numeric: "auto", style: "short" });
const exact = dateFormat({ dateStyle: "medium", timeStyle: "long" });
const short = dateFormat({
  month: "short",
  day: "numeric",
  hour: "numeric",
  minute: "2-digit",
  second: "2-digit",
});

/** `3 min. ago`, in the user's locale. */
function ago(at: string, from: number): string {
  const seconds = (Date.parse(at) - from) / 1000;
  for (const [unit, size] of STEPS) {
    if (Math.abs(seconds) >= size) return relative().format(Math.trunc(seconds / size), unit);
  }
  return relative().format(seconds > 5 ? Math.trunc(seconds) : 0, "second");
}

/** A time in the user's time zone, with seconds. */
export const exactly = (at: string): string => exact().format(new Date(at));
const day = dateFormat({ dateStyle: "medium" });
/** The day of a time in the user's time zone, such as `Jan 31, 2026`. */
export const dayOf = (at: string): string => day().format(new Date(at));
export const shortly = (at: string): string => short().format(new Date(at));

/** Relative time, with the exact time on hover. */
export function When({ at, empty = t("Never") }: { at: string | null | undefined; empty?: string }) {
  const from = useNow();
  if (!at) return <span className="text-faint">{empty}</span>;
  return (
    <time dateTime={at} title={`${exactly(at)}\n${at}`} className="whitespace-nowrap">
      {ago(at, Math.max(from, Date.now()))}
    </time>
  );
}

const tenths = numberFormat({ minimumFractionDigits: 1, maximumFractionDigits: 1 });
const and = (rest: number, unit: string) => (rest === 0 ? "" : ` ${rest} ${unit}`);

/** A duration for people: `340 ms`, `4.2 s`, `3 min 5 s`, `5 min`. Rounded first, so that no unit is full. */
export function inWords(seconds: number): string {
  const ms = Math.round(seconds * 1000);
  if (ms < 1000) return `${ms} ms`;
  if (ms < 9950) return `${tenths().format(ms / 1000)} s`;
  const whole = Math.round(ms / 1000);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min${and(whole % 60, "s")}`;
  const minutes = Math.round(whole / 60);
  return `${Math.floor(minutes / 60)} h${and(minutes % 60, "min")}`;
}

export const Took = ({ seconds }: { seconds: number | null }) =>
  seconds === null ? (
    <span className="text-faint">–</span>
  ) : (
    <span className="tabular-nums">{inWords(seconds)}</span>
  );

const COUNT = numberFormat();
export const counted = (count: number): string => COUNT().format(count);

/** Bytes in binary units: `1.5 MiB`. */
export function sized(bytes: number | null): string {
  if (bytes === null) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const step = Math.min(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), units.length - 1);
  const size = bytes / 1024 ** step;
  return `${size < 10 && step > 0 ? tenths().format(size) : Math.round(size)} ${units[step]}`;
}

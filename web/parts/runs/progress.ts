import type { Run } from "../../calls.ts";
import { t } from "../../texts/text.ts";
import { counted, sized } from "../base/time.tsx";

interface Progress {
  phase?: string | null;
  message?: string | null;
  current?: number | null;
  total?: number | null;
  unit?: string | null;
  percent?: number | null;
}

const isNumber = (value: unknown): value is number => typeof value === "number";

function countOf({ current, total, unit }: Progress): string | null {
  if (!isNumber(current)) return null;
  const shown = (count: number) => (unit === "bytes" ? sized(count) : counted(count));
  const count = isNumber(total)
    ? t("{count} of {total}", { count: shown(current), total: shown(total) })
    : shown(current);
  return unit && unit !== "bytes" ? `${count} ${unit}` : count;
}

/** Progress from 0 to 100. Null if unknown. */
export const percentOf = ({ progress }: Pick<Run, "progress">): number | null => {
  const { percent } = (progress ?? {}) as Progress;
  return isNumber(percent) ? percent : null;
};

/** Progress as text: `42% · 1,200 of 2,860 rows · Reading shop.orders`. Null unless it is running. */
export function progressOf({ progress, status }: Pick<Run, "progress" | "status">): string | null {
  if (status !== "running" || !progress) return null;
  const { message, phase, percent, ...count } = progress as Progress;
  const parts = [isNumber(percent) ? `${Math.round(percent)}%` : null, countOf(count), message ?? phase];
  return parts.filter(Boolean).join(" · ") || null;
}

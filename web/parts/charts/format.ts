import type { Format } from "../../../src/base/chart-spec.ts";
import { numberFormat } from "../base/formats.ts";
import { inWords, sized } from "../base/time.tsx";

const NUMBER = numberFormat({ maximumFractionDigits: 2 });
const COMPACT = numberFormat({ notation: "compact", maximumFractionDigits: 1 });
const PERCENT = numberFormat({ style: "percent", maximumFractionDigits: 1 });

interface Style {
  format?: Format | undefined;
  unit?: string | undefined;
}

/** Formats a number of a chart. Percentages are fractions, durations are seconds. */
export function formatted(value: number | null, { format = "number", unit }: Style): string {
  if (value === null) return "–";
  const text = {
    number: () => NUMBER().format(value),
    compact: () => COMPACT().format(value),
    percent: () => PERCENT().format(value),
    bytes: () => sized(value),
    duration: () => inWords(value),
  }[format]();
  return unit ? `${text} ${unit}` : text;
}

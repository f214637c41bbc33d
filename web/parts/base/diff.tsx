import { once, t } from "../../texts/text.ts";
import { visible } from "./visible.ts";

/** Beyond this number of lines, both texts are shown completely, without a comparison. */
const MAX_LINES = 600;

interface Line {
  sign: " " | "-" | "+";
  text: string;
}

/** The lines of both texts in order, with common lines once. */
function linesOf(before: readonly string[], after: readonly string[]): Line[] {
  if (before.length * after.length > MAX_LINES * MAX_LINES)
    return [
      ...before.map((text): Line => ({ sign: "-", text })),
      ...after.map((text): Line => ({ sign: "+", text })),
    ];
  // Length of the longest common subsequence, for each pair of suffixes.
  const common = Array.from({ length: before.length + 1 }, () => new Uint16Array(after.length + 1));
  const at = (one: number, other: number) => common[one]?.[other] ?? 0;
  for (let one = before.length - 1; one >= 0; one--) {
    for (let other = after.length - 1; other >= 0; other--) {
      const row = common[one];
      if (row)
        row[other] =
          before[one] === after[other]
            ? at(one + 1, other + 1) + 1
            : Math.max(at(one + 1, other), at(one, other + 1));
    }
  }
  const lines: Line[] = [];
  let [one, other] = [0, 0];
  while (one < before.length || other < after.length) {
    if (one < before.length && before[one] === after[other]) {
      lines.push({ sign: " ", text: before[one] ?? "" });
      one++;
      other++;
    } else if (one < before.length && (other >= after.length || at(one + 1, other) >= at(one, other + 1))) {
      lines.push({ sign: "-", text: before[one++] ?? "" });
    } else lines.push({ sign: "+", text: after[other++] ?? "" });
  }
  return lines;
}

const STYLE = { " ": "text-soft", "-": "bg-bad-soft text-bad", "+": "bg-good-soft text-good" } as const;
/** For screen readers. */
const spoken = once(() => ({ " ": "", "-": t("Before:"), "+": t("After:") }));

const textOf = (value: unknown): string =>
  visible(typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? ""));

/** A line-by-line comparison of two values. */
export function Diff({ before, after, label }: { before: unknown; after: unknown; label: string }) {
  const lines = linesOf(textOf(before).split("\n"), textOf(after).split("\n"));
  return (
    <section
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be focusable by keyboard
      tabIndex={0}
      className="max-h-96 overflow-auto rounded-md border border-line bg-raised py-1 font-mono text-xs leading-5"
    >
      {lines.map(({ sign, text }, at) => (
        <p
          // biome-ignore lint/suspicious/noArrayIndexKey: lines have no IDs
          key={at}
          dir="auto"
          className={`px-3 whitespace-pre-wrap [overflow-wrap:anywhere] ${STYLE[sign]}`}
        >
          <span aria-hidden className="mr-2 select-none">
            {sign}
          </span>
          <span className="sr-only">{spoken()[sign]} </span>
          {text}
        </p>
      ))}
    </section>
  );
}

import { type ReactNode, useState } from "react";
import { usePrinting } from "../base/printing.ts";

/** Number of rows rendered beyond the visible ones, so that scrolling shows no gaps. */
const MARGIN_ROWS = 12;

interface Props {
  count: number;
  rowHeight: number;
  /** Height of the visible area in pixels. */
  height: number;
  row: (at: number) => ReactNode;
  /** Sticky header above the rows. */
  head?: ReactNode;
  label: string;
}

/** A long list of rows with the same height. Only visible ones are rendered, except when printed. */
export function Rows({ count, rowHeight, height, row, head, label }: Props) {
  const [top, setTop] = useState(0);
  const isPrinting = usePrinting();
  const first = isPrinting ? 0 : Math.max(Math.floor(top / rowHeight) - MARGIN_ROWS, 0);
  const last = isPrinting ? count : Math.min(Math.ceil((top + height) / rowHeight) + MARGIN_ROWS, count);
  return (
    <section
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be focusable by keyboard
      tabIndex={0}
      className="relative overflow-auto"
      style={isPrinting ? {} : { maxHeight: height }}
      onScroll={({ currentTarget }) => setTop(currentTarget.scrollTop)}
    >
      {head}
      <div
        className="box-border min-w-max"
        style={{ height: count * rowHeight, paddingTop: first * rowHeight }}
      >
        {Array.from({ length: Math.max(last - first, 0) }, (_, at) => row(first + at))}
      </div>
    </section>
  );
}

import { type ReactNode, useLayoutEffect, useRef, useState } from "react";

interface Props {
  /** Draws what stands in it, for its width in pixels. */
  children: (room: number) => ReactNode;
}

interface Seen {
  room: number;
  isCutBefore: boolean;
  isCutAfter: boolean;
}

const SHADE = "pointer-events-none absolute inset-y-0 w-8 from-ink/15 to-transparent";

/** What may be wider than the page: it scrolls, and shows by shadows and in words where there is more. */
export function Sideways({ children }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [{ room, isCutBefore, isCutAfter }, setSeen] = useState<Seen>({
    room: 0,
    isCutBefore: false,
    isCutAfter: false,
  });
  useLayoutEffect(() => {
    const { current } = box;
    const inner = current?.firstElementChild;
    if (!current || !inner) return;
    const measure = () => {
      const { clientWidth, scrollWidth, scrollLeft } = current;
      const next = {
        room: clientWidth,
        isCutBefore: scrollLeft > 1,
        isCutAfter: scrollLeft + clientWidth < scrollWidth - 1,
      };
      setSeen((before) => (JSON.stringify(before) === JSON.stringify(next) ? before : next));
    };
    measure();
    const watch = new ResizeObserver(measure);
    watch.observe(current);
    watch.observe(inner);
    current.addEventListener("scroll", measure, { passive: true });
    return () => {
      watch.disconnect();
      current.removeEventListener("scroll", measure);
    };
  }, []);
  return (
    <>
      <div className="relative bg-ground">
        <div ref={box} className="overflow-x-auto">
          <div className="w-max min-w-full">{children(room)}</div>
        </div>
        {isCutBefore && <span aria-hidden className={`${SHADE} left-0 bg-linear-to-r`} />}
        {isCutAfter && <span aria-hidden className={`${SHADE} right-0 bg-linear-to-l`} />}
      </div>
      {(isCutBefore || isCutAfter) && (
        <p className="border-t border-line bg-ground px-4 py-1.5 text-xs text-soft">
          {isCutAfter ? "Scroll right to see more." : "Scroll left to see more."}
        </p>
      )}
    </>
  );
}

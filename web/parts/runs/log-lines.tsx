import { memo, useCallback, useEffect, useRef, useState } from "react";
import type { LOG_LEVELS } from "../../../src/base/log.ts";
import type { LogLine } from "../../calls.ts";
import { t } from "../../texts/text.ts";
import { dateFormat } from "../base/formats.ts";
import { plural } from "../base/plural.ts";
import { counted, exactly } from "../base/time.tsx";

/** Distance from the end in pixels at which a log is still followed. */
const END_PX = 40;
const LEVELS: typeof LOG_LEVELS = ["debug", "info", "warn", "error"];
const INK: Readonly<Record<LogLine["level"], string>> = {
  debug: "text-faint",
  info: "text-busy",
  warn: "text-warn",
  error: "text-bad",
};

interface Props {
  lines: readonly LogLine[];
  /** True if more lines will arrive. */
  isLive: boolean;
}

const clock = dateFormat({
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  fractionalSecondDigits: 3,
  hour12: false,
});

/** A log with search and level. Scrolls to its end until the user scrolls up. */
export function Log({ lines, isLive }: Props) {
  const [search, setSearch] = useState("");
  const [level, setLevel] = useState<string>("debug");
  const [wasLive] = useState(isLive);
  const follows = useRef(wasLive);
  const wanted = search.toLowerCase();
  const least = LEVELS.indexOf(level as (typeof LEVELS)[number]);
  const shown = lines.filter(
    (line) => LEVELS.indexOf(line.level) >= least && line.message.toLowerCase().includes(wanted),
  );
  const count = shown.length;
  const last = shown.at(-1)?.seq;
  const content = useRef<HTMLDivElement>(null);
  const follow = useCallback(() => {
    const box = content.current?.parentElement;
    if (follows.current) box?.scrollTo({ top: box.scrollHeight });
  }, []);
  const isEmpty = count === 0;
  // Lines that come into sight are laid out, which changes their height. The last lines arrive as the run ends.
  useEffect(() => {
    if (!wasLive || isEmpty || !content.current) return;
    const observer = new ResizeObserver(follow);
    observer.observe(content.current);
    return () => observer.disconnect();
  }, [wasLive, isEmpty, follow]);
  // Of the longest logs, new lines replace the first ones, which keeps the height.
  useEffect(() => {
    if (wasLive && last !== undefined) follow();
  }, [wasLive, last, follow]);

  return (
    <div>
      <div className="flex flex-wrap items-center gap-2 border-b border-line px-3 py-2">
        <input
          type="search"
          className="field w-60"
          placeholder={t("Search log")}
          aria-label={t("Search log")}
          value={search}
          onChange={(event) => setSearch(event.target.value)}
        />
        <select
          className="field w-auto"
          aria-label={t("Minimum level")}
          value={level}
          onChange={(event) => setLevel(event.target.value)}
        >
          <option value="debug">{t("All levels")}</option>
          <option value="info">{t("Info and above")}</option>
          <option value="warn">{t("Warnings and errors")}</option>
          <option value="error">{t("Errors")}</option>
        </select>
        <span className="ml-auto text-xs text-soft tabular-nums">
          {count === lines.length
            ? plural(count, { one: "# line", other: "# lines" })
            : plural(lines.length, {
                one: `${counted(count)} of # line`,
                other: `${counted(count)} of # lines`,
              })}
        </span>
      </div>
      {isEmpty ? (
        <p className="px-4 py-6 text-sm text-soft">
          {lines.length > 0
            ? t("No lines match")
            : isLive
              ? t("No log output yet")
              : t("This run produced no log output.")}
        </p>
      ) : (
        <section
          aria-label={t("Log")}
          // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be focusable by keyboard
          tabIndex={0}
          className="max-h-90 overflow-y-auto font-mono text-xs leading-5 print:max-h-none"
          onScroll={({ currentTarget: { scrollTop, clientHeight, scrollHeight } }) => {
            follows.current = scrollTop + clientHeight >= scrollHeight - END_PX;
          }}
        >
          <div ref={content}>
            {shown.map((line) => (
              <Line key={line.seq} line={line} />
            ))}
          </div>
        </section>
      )}
    </div>
  );
}

/** Text in one piece, so that it is copied as one line. Browsers lay out only lines that are in sight. */
const Line = memo(({ line: { timestamp, level, message } }: { line: LogLine }) => (
  <div className="pr-4 pl-8 -indent-4 whitespace-pre-wrap [overflow-wrap:anywhere] [contain-intrinsic-size:auto_1.25rem] [content-visibility:auto] hover:bg-sunken">
    <time className="text-faint" dateTime={timestamp} title={exactly(timestamp)}>
      {clock().format(new Date(timestamp))}
    </time>{" "}
    <span className={INK[level]}>{level.padEnd(5)}</span> <span dir="auto">{message}</span>
  </div>
));

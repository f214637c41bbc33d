import { useEffect, useRef, useState } from "react";
import type { LOG_LEVELS } from "../../../src/base/log.ts";
import type { LogLine } from "../../calls.ts";
import { t } from "../../texts/text.ts";
import { dateFormat } from "../base/formats.ts";
import { plural } from "../base/plural.ts";
import { counted, exactly } from "../base/time.tsx";
import { Rows } from "../table/rows.tsx";

const LINE_HEIGHT = 20;
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
  const [follows, setFollows] = useState(true);
  const box = useRef<HTMLDivElement>(null);
  const wanted = search.toLowerCase();
  const least = LEVELS.indexOf(level as (typeof LEVELS)[number]);
  const shown = lines.filter(
    (line) => LEVELS.indexOf(line.level) >= least && line.message.toLowerCase().includes(wanted),
  );
  const count = shown.length;
  useEffect(() => {
    if (isLive && follows && count > 0) box.current?.scrollTo({ top: count * LINE_HEIGHT });
  }, [isLive, follows, count]);

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
      {count === 0 ? (
        <p className="px-4 py-6 text-sm text-soft">
          {lines.length > 0
            ? t("No lines match")
            : isLive
              ? t("No log output yet")
              : t("This run produced no log output.")}
        </p>
      ) : (
        <Rows
          label={t("Log")}
          boxRef={box}
          count={count}
          rowHeight={LINE_HEIGHT}
          height={360}
          onScrolled={setFollows}
          row={(at) => {
            const line = shown[at];
            if (!line) return null;
            return (
              <div
                key={line.seq}
                className="flex gap-3 px-4 font-mono text-xs hover:bg-sunken"
                style={{ height: LINE_HEIGHT, lineHeight: `${LINE_HEIGHT}px` }}
              >
                <time
                  className="shrink-0 text-faint tabular-nums"
                  dateTime={line.timestamp}
                  title={exactly(line.timestamp)}
                >
                  {clock().format(new Date(line.timestamp))}
                </time>
                <span className={`w-10 shrink-0 ${INK[line.level] ?? ""}`}>{line.level}</span>
                <span className="whitespace-pre" dir="auto" title={line.message}>
                  {line.message}
                </span>
              </div>
            );
          }}
        />
      )}
    </div>
  );
}

import { Cron } from "croner";
import { t } from "../../texts/text.ts";
import { dateFormat, ownZone } from "../base/formats.ts";
import { Labelled } from "../base/labelled.tsx";
import { cronOf, RHYTHMS, rhythmOf } from "../base/rhythm.ts";
import { cronInWords } from "./cron-words.ts";

const COUNT = 5;

interface Schedule {
  cron: string;
  timezone: string;
}

interface Props extends Schedule {
  onCron: (cron: string) => void;
}

const inZone = (timeZone: string | undefined) =>
  dateFormat({
    weekday: "short",
    day: "numeric",
    month: "short",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    timeZoneName: "short",
    ...(timeZone === undefined ? {} : { timeZone }),
  });

/** The same computation as the server's, so that both show the same times. */
function nextOf({ cron, timezone }: Schedule): Date[] | null {
  try {
    const job = new Cron(cron, { timezone, mode: "5-or-6-parts", fixedTimeRule: "no-wildcard" });
    return job.nextRuns(COUNT);
  } catch {
    return null; // the server says what is wrong with it
  }
}

/** A schedule with a picker, a description and its next runs. */
export default function Instants({ onCron, ...schedule }: Props) {
  const words = cronInWords(schedule.cron);
  return (
    <>
      <Picker cron={schedule.cron} onCron={onCron} />
      <p className="mt-4 mb-1 text-sm font-medium">{t("Next runs")}</p>
      {words && <p className="mb-2 text-sm">{words}</p>}
      <Next {...schedule} />
    </>
  );
}

const FIRST_TIME = "07:00";

/** Builds cron expressions for common schedules. */
function Picker({ cron, onCron }: Pick<Props, "cron" | "onCron">) {
  const now = rhythmOf(cron.trim());
  const time = now?.time ?? FIRST_TIME;
  return (
    <div className="flex flex-wrap items-end gap-3">
      <Labelled label={t("Repeats")}>
        {(wiring) => (
          <select
            {...wiring}
            className="field w-auto"
            value={now?.rhythm ?? "cron"}
            onChange={({ target }) => onCron(cronOf(target.value as NonNullable<typeof now>["rhythm"], time))}
          >
            {RHYTHMS.filter(([id]) => id !== "now" && (id !== "cron" || now === null)).map(([id, name]) => (
              <option key={id} value={id} disabled={id === "cron"}>
                {name}
              </option>
            ))}
          </select>
        )}
      </Labelled>
      {now && (
        <Labelled label={t("Time")}>
          {(wiring) => (
            <input
              {...wiring}
              type="time"
              className="field w-32"
              value={time}
              onChange={({ target }) => onCron(cronOf(now.rhythm, target.value || FIRST_TIME))}
            />
          )}
        </Labelled>
      )}
    </div>
  );
}

/** Next runs of a schedule, in its own and the user's time zone. */
function Next(props: Schedule) {
  const next = nextOf(props);
  const own = ownZone();
  if (!next) return <p className="text-sm text-soft">{t("Enter a cron expression to see upcoming runs.")}</p>;
  if (next.length === 0) return <p className="text-sm text-soft">{t("This schedule never runs.")}</p>;
  const isSame = own === props.timezone;
  return (
    <table aria-label={t("Upcoming runs")} className="text-sm tabular-nums">
      <thead className="text-left text-xs text-soft">
        <tr>
          <th scope="col" className="pr-6 pb-1 font-medium">
            {props.timezone}
          </th>
          {!isSame && (
            <th scope="col" className="pb-1 font-medium">
              {t("{zone} (your time zone)", { zone: own ?? "" })}
            </th>
          )}
        </tr>
      </thead>
      <tbody>
        {next.map((at) => (
          <tr key={at.toISOString()}>
            <td className="pr-6">
              <time dateTime={at.toISOString()} title={at.toISOString()}>
                {inZone(props.timezone)().format(at)}
              </time>
            </td>
            {!isSame && <td className="text-soft">{inZone(undefined)().format(at)}</td>}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

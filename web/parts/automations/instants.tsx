import { Cron } from "croner";
import { t } from "../../texts/text.ts";
import { dateFormat, ownZone } from "../base/formats.ts";

const COUNT = 5;

interface Props {
  cron: string;
  timezone: string;
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
function nextOf({ cron, timezone }: Props): Date[] | null {
  try {
    const job = new Cron(cron, { timezone, mode: "5-or-6-parts", fixedTimeRule: "no-wildcard" });
    return job.nextRuns(COUNT);
  } catch {
    return null; // the server says what is wrong with it
  }
}

/** When a schedule is due next, in its own zone and in the person's. */
export default function Instants(props: Props) {
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

import { t } from "../../texts/text.ts";
import { ownZone } from "../base/formats.ts";
import { instantOf, wallTime } from "../base/wall-time.ts";
import { Choice } from "./filters.tsx";
import type { Filters } from "./table.tsx";

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const CUSTOM = "custom";

const SPANS = [
  ["1", t("Last hour")],
  ["24", t("Last 24 hours")],
  ["168", t("Last 7 days")],
  ["720", t("Last 30 days")],
  [CUSTOM, t("Custom period")],
] as const;

/** Start of a period that ends now, rounded to the minute, so that the same filter gives the same query. */
const sinceOf = (hours: string): string | undefined =>
  Number(hours) > 0
    ? new Date(Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS - Number(hours) * HOUR_MS).toISOString()
    : undefined;

/** The period in the URL. */
export const periodOf = (filters: Filters) => ({
  since: filters.get("since") || sinceOf(filters.get("span")),
  until: filters.get("until"),
});

/** Selects a period that ends now, or one with start and end, as in links. */
export function PeriodChoice({ filters }: { filters: Filters }) {
  const isCustom =
    filters.get("span") === CUSTOM || filters.get("since") !== "" || filters.get("until") !== "";
  return (
    <>
      <Choice
        label={t("Time")}
        value={isCustom ? CUSTOM : filters.get("span")}
        options={SPANS}
        onChange={(span) => {
          const since = (span === CUSTOM && sinceOf(filters.get("span"))) || "";
          filters.setAll({ span, since, until: "" });
        }}
      />
      {isCustom && (
        <>
          <End filters={filters} name="since" label={t("From")} />
          <End filters={filters} name="until" label={t("To")} />
        </>
      )}
    </>
  );
}

function End({ filters, name, label }: { filters: Filters; name: "since" | "until"; label: string }) {
  const zone = ownZone();
  return (
    <label className="flex items-center gap-1.5 text-xs text-soft">
      {label}
      <input
        type="datetime-local"
        className="field w-auto"
        value={wallTime(filters.get(name), zone)}
        onChange={(event) =>
          filters.setAll({ span: CUSTOM, [name]: instantOf(event.target.value, zone) ?? "" })
        }
      />
    </label>
  );
}

import { useState } from "react";
import { useApi } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Labelled, TextField } from "../base/labelled.tsx";
import { personName } from "../base/person.ts";
import { cronOf, RHYTHMS, type Rhythm, rhythmOf } from "../base/rhythm.ts";

/** When and to whom a dashboard is emailed, as form values. */
export interface Plan {
  readonly rhythm: Rhythm;
  /** For example `07:30`. */
  readonly time: string;
  readonly cron: string;
  /** Null for the user alone. */
  readonly recipients: readonly string[] | null;
}

export const NEW_PLAN: Plan = { rhythm: "now", time: "07:00", cron: "0 7 * * 1-5", recipients: null };

export function planOf(cron: string, recipients: readonly string[]): Plan {
  const found = rhythmOf(cron);
  return { rhythm: found?.rhythm ?? "cron", time: found?.time ?? NEW_PLAN.time, cron, recipients };
}

/** Cron expression of a scheduled plan. */
export const cronOfPlan = ({ rhythm, time, cron }: Plan): string =>
  rhythm === "cron" || rhythm === "now" ? cron : cronOf(rhythm, time);

interface WhenProps {
  plan: Plan;
  /** False when a schedule is edited. */
  mayBeNow: boolean;
  onChange: (change: Partial<Plan>) => void;
}

export function WhenFields({ plan: { rhythm, time, cron }, mayBeNow, onChange }: WhenProps) {
  return (
    <div className="flex flex-wrap items-end gap-3">
      <Labelled label={t("When")}>
        {(wiring) => (
          <select
            {...wiring}
            className="field w-auto"
            value={rhythm}
            onChange={(event) => onChange({ rhythm: event.target.value as Rhythm })}
          >
            {RHYTHMS.filter(([id]) => mayBeNow || id !== "now").map(([id, name]) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </select>
        )}
      </Labelled>
      {rhythm === "cron" && (
        <TextField
          label={t("Cron expression")}
          isRequired
          maxLength={200}
          value={cron}
          onChange={(text) => onChange({ cron: text })}
        />
      )}
      {rhythm !== "now" && rhythm !== "cron" && (
        <Labelled label={t("Time")}>
          {(wiring) => (
            <input
              {...wiring}
              type="time"
              required
              className="field w-32"
              value={time}
              onChange={(event) => onChange({ time: event.target.value || NEW_PLAN.time })}
            />
          )}
        </Labelled>
      )}
    </div>
  );
}

const FEW = 8;

export function Recipients({
  chosen,
  onChange,
}: {
  chosen: readonly string[];
  onChange: (ids: readonly string[]) => void;
}) {
  const team = useApi("GET /api/v1/organizations/team", {});
  const [q, setQ] = useState("");
  const members = team.data?.members ?? [];
  const found = members.filter((each) =>
    `${personName(each)} ${each.email}`.toLowerCase().includes(q.trim().toLowerCase()),
  );
  return (
    <fieldset className="min-w-0">
      <legend className="mb-1 text-sm font-medium">{t("Recipients")}</legend>
      {members.length > FEW && (
        <input
          type="search"
          aria-label={t("Find members")}
          placeholder={t("Name or email")}
          className="field mb-2"
          value={q}
          onChange={(event) => setQ(event.target.value)}
        />
      )}
      <ul className="max-h-40 overflow-y-auto rounded-md border border-line px-3 py-1.5">
        {found.map((each) => (
          <li key={each.userId}>
            <label className="flex min-h-7 items-center gap-2">
              <input
                type="checkbox"
                className="size-4 accent-accent"
                checked={chosen.includes(each.userId)}
                onChange={({ target: { checked } }) =>
                  onChange(checked ? [...chosen, each.userId] : chosen.filter((id) => id !== each.userId))
                }
              />
              <span className="min-w-0 truncate" dir="auto">
                {personName(each)}
              </span>
              <span className="min-w-0 truncate text-xs text-soft">{each.email}</span>
            </label>
          </li>
        ))}
      </ul>
    </fieldset>
  );
}

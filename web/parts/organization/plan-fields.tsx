import type { Reply } from "../../calls.ts";
import { useApi } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Labelled, TextField } from "../base/labelled.tsx";
import { named } from "../base/named.ts";
import { counted } from "../base/time.tsx";

export type Plan = Reply<"GET /api/v1/organizations/current">["plan"];
interface Rate {
  perMinute: number;
  burst: number;
}

/** A plan and, for the largest one, its custom webhook rate, as typed. */
export interface PlanDraft {
  plan: Plan;
  perMinute: string;
  burst: string;
}

const PLANS = named<Plan>({ free: t("Free"), pro: t("Pro"), enterprise: t("Enterprise") });

/** Empty text isn't a number. The API reports other invalid text. */
const asNumber = (text: string): number => (text.trim() === "" ? Number.NaN : Number(text));

export const draftOf = ({ plan, webhookRate }: { plan: Plan; webhookRate: Rate | null }): PlanDraft => ({
  plan,
  perMinute: webhookRate ? String(webhookRate.perMinute) : "",
  burst: webhookRate ? String(webhookRate.burst) : "",
});

/** Changes of plan and rate, for the body of a call. */
export function planChange(
  { plan, perMinute, burst }: PlanDraft,
  before: { plan: Plan; webhookRate: Rate | null },
) {
  const isEmpty = perMinute.trim() === "" && burst.trim() === "";
  const rate = isEmpty ? null : { perMinute: asNumber(perMinute), burst: asNumber(burst) };
  return {
    ...(plan === before.plan ? {} : { plan }),
    ...(JSON.stringify(rate) === JSON.stringify(before.webhookRate) ? {} : { webhookRate: rate }),
  };
}

interface Props {
  draft: PlanDraft;
  onChange: (change: Partial<PlanDraft>) => void;
  messageFor: (...path: string[]) => string | undefined;
}

export function PlanFields({ draft, onChange, messageFor }: Props) {
  const meta = useApi("GET /api/v1/meta", {}, { isFixed: true });
  const usual = (meta.data?.limits.webhooks as Record<Plan, Rate> | undefined)?.[draft.plan];
  return (
    <>
      <Labelled
        label={t("Plan")}
        fault={messageFor("plan")}
        about={
          usual
            ? t("Incoming webhooks: {perMinute} per minute, burst {burst}.", {
                perMinute: counted(usual.perMinute),
                burst: counted(usual.burst),
              })
            : null
        }
      >
        {(wiring) => (
          <select
            {...wiring}
            className="field"
            value={draft.plan}
            onChange={(event) => onChange({ plan: event.target.value as Plan })}
          >
            {PLANS.map(([id, name]) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </select>
        )}
      </Labelled>
      {draft.plan === "enterprise" && (
        <fieldset className="grid grid-cols-2 gap-4">
          <legend className="sr-only">{t("Custom webhook rate limit")}</legend>
          <TextField
            label={t("Webhooks per minute")}
            value={draft.perMinute}
            onChange={(perMinute) => onChange({ perMinute })}
            fault={messageFor("webhookRate", "perMinute")}
            placeholder={usual ? String(usual.perMinute) : ""}
          />
          <TextField
            label={t("Burst")}
            value={draft.burst}
            onChange={(burst) => onChange({ burst })}
            fault={messageFor("webhookRate", "burst")}
            placeholder={usual ? String(usual.burst) : ""}
          />
        </fieldset>
      )}
    </>
  );
}

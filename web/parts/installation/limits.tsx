import { useState } from "react";
import type { InstallationOrganization } from "../../calls.ts";
import { useChange } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { LongField } from "../base/fields.tsx";
import { Labelled } from "../base/labelled.tsx";
import { Section } from "../base/page.tsx";
import { counted } from "../base/time.tsx";
import { FormFrame, faultsOf, messagesBy } from "../form/frame.tsx";
import { draftOf, PlanFields, planChange } from "../organization/plan-fields.tsx";
import { countOf, QUOTA_FIELDS, type Quota, type QuotaField, textOf } from "./quotas.ts";

const linesOf = (text: string): string[] =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");

const textsOf = (quotas: InstallationOrganization["quotas"]) =>
  Object.fromEntries(QUOTA_FIELDS.map(({ name, scale }) => [name, textOf(quotas[name], scale)])) as Record<
    Quota,
    string
  >;

/** An operator's settings for an organization: its plan, its quotas, and allowed private addresses. */
export function InstallationLimits({
  organization,
  onDirty,
}: {
  organization: InstallationOrganization;
  onDirty: (isDirty: boolean) => void;
}) {
  const [plan, setPlan] = useState(draftOf(organization));
  const [quotas, setQuotas] = useState(textsOf(organization.quotas));
  const [egress, setEgress] = useState(organization.egressAllow.join("\n"));
  const save = useChange("PATCH /api/v1/installation/organizations/{organization_id}", {
    touches: ["/organizations", "/memberships"],
    tellsErrors: false,
    done: t("Limits saved"),
    onDone: () => onDirty(false),
  });
  const messageFor = messagesBy(save.error);
  const counts = QUOTA_FIELDS.map(({ name, scale }) => [name, countOf(quotas[name], scale)] as const);
  const changed = counts.filter(([name, count]) => count !== organization.quotas[name]);
  const egressAllow = linesOf(egress);
  const body = {
    ...planChange(plan, organization),
    ...(changed.length > 0
      ? { quotas: Object.fromEntries(changed) as Partial<Record<Quota, number | null>> }
      : {}),
    ...(egressAllow.join("\n") === organization.egressAllow.join("\n") ? {} : { egressAllow }),
  };
  return (
    <FormFrame
      title={t("Plan")}
      call={save}
      drawn={[
        ...["plan", "webhookRate.perMinute", "webhookRate.burst", "egressAllow"],
        ...QUOTA_FIELDS.map(({ name }) => `quotas.${name}`),
      ]}
      isChanged={Object.keys(body).length > 0}
      isReady={counts.every(([, count]) => count !== undefined)}
      onSend={() => save.mutate({ path: { organization_id: organization.id }, body })}
      more={
        <>
          <Section title={t("Quotas")} aside={t("Leave empty for no limit")}>
            <div className="grid gap-4 sm:grid-cols-2">
              {QUOTA_FIELDS.map((field) => (
                <QuotaInput
                  key={field.name}
                  field={field}
                  text={quotas[field.name]}
                  message={messageFor("quotas", field.name)}
                  onChange={(text) => {
                    setQuotas({ ...quotas, [field.name]: text });
                    onDirty(true);
                  }}
                />
              ))}
            </div>
          </Section>
          <Section title={t("Private addresses")}>
            <LongField
              label={t("Allowed addresses")}
              isCode
              value={egress}
              onChange={(text) => {
                setEgress(text);
                onDirty(true);
              }}
              fault={faultsOf(save.error)
                .filter(({ loc }) => loc[1] === "egressAllow")
                .map(({ loc, msg }) => `${egressAllow[Number(loc[2])] ?? t("List")}: ${msg}`)
                .join(" ")}
              placeholder={"10.1.0.0/16\ndb.internal:5432"}
              about={t(
                "One per line: a CIDR range, an IP address or a hostname, with an optional port. Added to WEIR_EGRESS_ALLOW.",
              )}
            />
          </Section>
        </>
      }
    >
      <div className="grid gap-4 sm:grid-cols-2">
        <PlanFields
          draft={plan}
          messageFor={messageFor}
          onChange={(change) => {
            setPlan({ ...plan, ...change });
            onDirty(true);
          }}
        />
      </div>
    </FormFrame>
  );
}

interface QuotaProps {
  field: QuotaField;
  text: string;
  message: string | undefined;
  onChange: (text: string) => void;
}

function QuotaInput({ field: { label, unit, scale, about }, text, message, onChange }: QuotaProps) {
  const count = countOf(text, scale);
  const hint = scale === 1 ? t("Enter a whole number.") : t("Enter a number.");
  const isLong = typeof count === "number" && (scale > 1 || count > 9999);
  const exact = isLong ? ` ${counted(count)} ${scale > 1 ? t("bytes") : unit}.` : "";
  return (
    <Labelled label={label} about={about + exact} fault={count === undefined ? hint : message}>
      {(wiring) => (
        <span className="flex items-center gap-2">
          <input
            {...wiring}
            className="field"
            inputMode="decimal"
            autoComplete="off"
            placeholder={t("No limit")}
            value={text}
            onChange={(event) => onChange(event.target.value)}
          />
          <span className="w-16 shrink-0 text-sm text-soft">{unit}</span>
        </span>
      )}
    </Labelled>
  );
}

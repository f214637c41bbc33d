import { Link } from "wouter";
import type { Approval, Automation, AutomationRun, Decision } from "../../calls.ts";
import { useApi } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Facts } from "../base/page.tsx";
import { personName } from "../base/person.ts";
import { When } from "../base/time.tsx";
import { Tree } from "../base/tree.tsx";
import { dependencyOf } from "../canvas/config.ts";
import { stepsIn } from "../canvas/steps-config.ts";
import { triggerName } from "../runs/filters.tsx";

type Of = Pick<Approval, "id" | "automationId" | "automationRunId" | "stepKey">;

/** What started the run, the consequence of each decision, and who else can decide. */
export function ApprovalContext({
  of: { id, automationId, automationRunId, stepKey },
  isOnRun = false,
}: {
  of: Of;
  /** True on the page of the run itself. */
  isOnRun?: boolean;
}) {
  const decision = useApi("GET /api/v1/decisions/{decision_id}", { path: { decision_id: id } });
  const run = useApi(
    "GET /api/v1/automation-runs/{run_id}",
    { path: { run_id: automationRunId ?? "" } },
    { enabled: automationRunId !== null },
  );
  const automation = useApi(
    "GET /api/v1/automations/{automation_id}",
    { path: { automation_id: automationId ?? "" } },
    { enabled: automationId !== null, isFixed: true },
  );
  const people = useApi("GET /api/v1/organizations/members", {}, { isFixed: true });
  const nameOf = (userId: string | null) => {
    const person = people.data?.items.find((each) => each.id === userId);
    return person ? personName(person) : null;
  };
  if (!decision.data) return null;
  const assignee = nameOf(decision.data.assignedTo);
  return (
    <div className="rounded-md bg-sunken px-3 py-2.5">
      <Facts
        of={[
          [t("Triggered by"), <Trigger key="by" run={run.data} decision={decision.data} nameOf={nameOf} />],
          ...(isOnRun
            ? []
            : [
                [
                  t("Run"),
                  <RunLink
                    key="run"
                    href={run.data ? `/automation-runs/${run.data.id}` : `/runs/${decision.data.subjectId}`}
                  />,
                ] as const,
              ]),
          ...(automation.data && stepKey ? outcomesOf(automation.data, stepKey) : []),
          [t("Who can decide"), assignee ? t("{assignee} and any admin", { assignee }) : t("Any member")],
          ...(decision.data.expiresAt
            ? [[t("Expires"), <When key="expires" at={decision.data.expiresAt} />] as const]
            : []),
        ]}
      />
      {run.data && run.data.input !== null && (
        <details className="mt-2 text-sm">
          <summary className="cursor-pointer text-soft">{t("Input of the run")}</summary>
          <div className="mt-1">
            <Tree value={run.data.input} copyLabel={t("Copy input as JSON")} />
          </div>
        </details>
      )}
    </div>
  );
}

interface TriggerProps {
  run: AutomationRun | undefined;
  decision: Decision;
  nameOf: (userId: string | null) => string | null;
}

function Trigger({ run, decision: { requestedBy, createdAt }, nameOf }: TriggerProps) {
  const parts = [run && triggerName(run.triggerMethod), nameOf(requestedBy)].filter(Boolean);
  return (
    <>
      {parts.length > 0 && `${parts.join(", ")} · `}
      <When at={run?.createdAt ?? createdAt} />
    </>
  );
}

const RunLink = ({ href }: { href: string }) => (
  <Link href={href} className="text-accent hover:underline">
    {t("Open run")}
  </Link>
);

/** Consequence of each decision, by the automation's current config. */
function outcomesOf({ config }: Automation, stepKey: string): (readonly [string, string])[] {
  const steps = stepsIn(config);
  const next = steps
    .filter(({ dependsOn = [] }) => dependsOn.some((text) => dependencyOf(text).key === stepKey))
    .map(({ key, name }) => name ?? key);
  const { definition } = (steps.find(({ key }) => key === stepKey) ?? {}) as {
    definition?: { onReject?: string };
  };
  return [
    [
      t("If approved"),
      next.length > 0 ? t("Runs {steps}", { steps: next.join(", ") }) : t("No steps follow"),
    ],
    ...(definition
      ? [
          [
            t("If rejected"),
            definition.onReject === "continue" ? t("The run continues") : t("The run fails"),
          ] as const,
        ]
      : []),
  ];
}

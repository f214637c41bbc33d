import { Link } from "wouter";
import type { Decision } from "../calls.ts";
import { useApi } from "../data.ts";
import { ApprovalContext } from "../parts/approvals/context.tsx";
import { Question } from "../parts/approvals/question.tsx";
import { Facts, PageHead, Section, Shown } from "../parts/base/page.tsx";
import { personName } from "../parts/base/person.ts";
import { Status } from "../parts/base/status.tsx";
import { When } from "../parts/base/time.tsx";
import { Tree } from "../parts/base/tree.tsx";
import { t } from "../texts/text.ts";

/** An approval: the request, and who decided it and how. */
export default function ApprovalPage({ id }: { id: string }) {
  const decision = useApi("GET /api/v1/decisions/{decision_id}", { path: { decision_id: id } });
  return (
    <Shown of={decision} isPage>
      {(data) => <Whole decision={data} />}
    </Shown>
  );
}

function Whole({ decision }: { decision: Decision }) {
  const { status, decisionValue, createdAt, title } = decision;
  const isPending = status === "pending";
  return (
    <>
      <PageHead
        title={isPending ? t("Approval") : title}
        from={[["/approvals", t("Approvals")]]}
        beside={<Status status={decisionValue ?? (isPending ? "waiting" : status)} />}
      />
      {isPending ? (
        <Question of={decision} aside={<When at={createdAt} />}>
          <PendingContext decision={decision} />
        </Question>
      ) : (
        <Decided decision={decision} />
      )}
    </>
  );
}

/** Only the list of pending approvals has the automation. A decision doesn't. */
function PendingContext({ decision: { id } }: { decision: Decision }) {
  const approvals = useApi("GET /api/v1/approvals", { query: { status: "pending" } });
  const listed = approvals.data?.items.find((approval) => approval.id === id);
  if (approvals.isPending) return null;
  return <ApprovalContext of={listed ?? { id, automationId: null, automationRunId: null, stepKey: null }} />;
}

function Decided({ decision }: { decision: Decision }) {
  const { description, context, formResponse, rejectionReason, decidedBy, decidedAt, updatedAt, subjectId } =
    decision;
  const people = useApi("GET /api/v1/organizations/members", {}, { isFixed: true });
  const person = people.data?.items.find((each) => each.id === decidedBy);
  return (
    <>
      <Section title={t("Details")}>
        <Facts
          of={[
            [t("Decided by"), person ? personName(person) : "–"],
            [t("Decided"), <When key="when" at={decidedAt ?? updatedAt} />],
            [t("Reason"), rejectionReason ?? "–"],
            [
              t("Run"),
              <Link key="run" href={`/runs/${subjectId}`} className="text-accent hover:underline">
                {t("Open run")}
              </Link>,
            ],
          ]}
        />
      </Section>
      {formResponse && (
        <Section title={t("Answer")}>
          <Tree value={formResponse} copyLabel={t("Copy answer as JSON")} />
        </Section>
      )}
      {(description || context) && (
        <Section title={t("Request")}>
          {description && (
            <p className="text-sm whitespace-pre-wrap [overflow-wrap:anywhere]" dir="auto">
              {description}
            </p>
          )}
          {context && <Tree value={context} copyLabel={t("Copy context as JSON")} />}
        </Section>
      )}
    </>
  );
}

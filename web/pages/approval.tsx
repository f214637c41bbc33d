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

/** One approval: what is asked, and by whom and how it was decided. */
export default function ApprovalPage({ id }: { id: string }) {
  const decision = useApi("GET /api/v1/decisions/{decision_id}", { path: { decision_id: id } });
  return <Shown of={decision}>{(data) => <Whole decision={data} />}</Shown>;
}

function Whole({ decision }: { decision: Decision }) {
  const { status, decisionValue, createdAt, title } = decision;
  const isPending = status === "pending";
  return (
    <>
      <PageHead
        title={isPending ? "Approval" : title}
        from={[["/approvals", "Approvals"]]}
        beside={<Status status={decisionValue ?? status} />}
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

/** The list of what is pending knows the automation, which a decision does not name. */
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
      <Section title="Details">
        <Facts
          of={[
            ["Decided by", person ? personName(person) : "–"],
            ["Decided", <When key="when" at={decidedAt ?? updatedAt} />],
            ["Reason", rejectionReason ?? "–"],
            [
              "Run",
              <Link key="run" href={`/runs/${subjectId}`} className="text-accent hover:underline">
                Open run
              </Link>,
            ],
          ]}
        />
      </Section>
      {formResponse && (
        <Section title="Answer">
          <Tree value={formResponse} copyLabel="Copy answer as JSON" />
        </Section>
      )}
      {(description || context) && (
        <Section title="Request">
          {description && (
            <p className="text-sm whitespace-pre-wrap [overflow-wrap:anywhere]" dir="auto">
              {description}
            </p>
          )}
          {context && <Tree value={context} copyLabel="Copy context as JSON" />}
        </Section>
      )}
    </>
  );
}

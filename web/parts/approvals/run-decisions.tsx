import { Link } from "wouter";
import type { AutomationRun } from "../../calls.ts";
import { useApi } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { When } from "../base/time.tsx";
import { ApprovalContext } from "./context.tsx";
import { Question } from "./question.tsx";

/** Pending approvals of a run, which can be decided here. */
export function RunDecisions({ run }: { run: AutomationRun }) {
  const isWaiting = run.steps.some(({ status }) => status === "waiting");
  const approvals = useApi("GET /api/v1/approvals", { query: { status: "pending" } }, { enabled: isWaiting });
  if (!isWaiting) return null;
  const openApprovals = (approvals.data?.items ?? []).filter(
    ({ automationRunId }) => automationRunId === run.id,
  );
  return openApprovals.map((approval) => (
    <Question
      key={approval.id}
      of={approval}
      aside={
        <>
          <Link href={`/approvals/${approval.id}`} className="text-accent hover:underline">
            {t("Open approval")}
          </Link>
          <When at={approval.requestedAt} />
        </>
      }
    >
      <ApprovalContext of={approval} isOnRun />
    </Question>
  ));
}

import { Check, X } from "lucide-react";
import { useState } from "react";
import { call } from "../../api.ts";
import type { Approval } from "../../calls.ts";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { Dialog } from "../base/dialog.tsx";
import { TextField } from "../base/labelled.tsx";
import { plural } from "../base/plural.ts";
import { useBulk } from "../table/bulk.ts";

const TOUCHES = ["/approvals", "/decisions", "/action-runs", "/automation-runs", "/overview"] as const;
/** Maximum number of approvals to list in the confirmation. */
const NAMED = 10;

interface Props {
  chosen: readonly Approval[];
  onClear: () => void;
}

/** Decides the selected approvals together. Those with a form must be approved individually. */
export function BulkDecisions({ chosen, onClear }: Props) {
  const [choice, setChoice] = useState<"approve" | "reject" | null>(null);
  const approvable = chosen.filter(({ decisionType }) => decisionType === "approve_reject");
  const forms = chosen.length - approvable.length;
  return (
    <div className="mb-3 flex flex-wrap items-center gap-2 text-sm">
      <span role="status" className="tabular-nums">
        {plural(chosen.length, { one: "# selected", other: "# selected" })}
      </span>
      {approvable.length > 0 && (
        <Button icon={Check} onClick={() => setChoice("approve")}>
          {plural(approvable.length, { one: "Approve #", other: "Approve #" })}
        </Button>
      )}
      <Button kind="bad" icon={X} onClick={() => setChoice("reject")}>
        {plural(chosen.length, { one: "Reject #", other: "Reject #" })}
      </Button>
      <Button kind="quiet" onClick={onClear}>
        {t("Clear selection")}
      </Button>
      {forms > 0 && (
        <span className="text-xs text-soft">
          {plural(forms, {
            one: "# asks for a form. Approve it by itself.",
            other: "# ask for a form. Approve each by itself.",
          })}
        </span>
      )}
      {choice === "approve" && (
        <Decide of={approvable} isApproval onClear={onClear} onClose={() => setChoice(null)} />
      )}
      {choice === "reject" && (
        <Decide of={chosen} isApproval={false} onClear={onClear} onClose={() => setChoice(null)} />
      )}
    </div>
  );
}

interface DecideProps {
  of: readonly Approval[];
  isApproval: boolean;
  onClear: () => void;
  onClose: () => void;
}

function Decide({ of, isApproval, onClear, onClose }: DecideProps) {
  const [reason, setReason] = useState("");
  const approve = useBulk(
    ({ id }: Approval) =>
      call("POST /api/v1/approvals/{approval_id}/approve", { path: { approval_id: id }, body: {} }),
    {
      done: { one: "# approval approved", other: "# approvals approved" },
      failed: { one: "Couldn't approve # approval", other: "Couldn't approve # approvals" },
    },
    TOUCHES,
  );
  const reject = useBulk(
    ({ id }: Approval) =>
      call("POST /api/v1/approvals/{approval_id}/reject", {
        path: { approval_id: id },
        body: { rejectionReason: reason || null },
      }),
    {
      done: { one: "# approval rejected", other: "# approvals rejected" },
      failed: { one: "Couldn't reject # approval", other: "Couldn't reject # approvals" },
    },
    TOUCHES,
  );
  const { isBusy, run } = isApproval ? approve : reject;
  const verb = isApproval
    ? plural(of.length, { one: "Approve # request", other: "Approve # requests" })
    : plural(of.length, { one: "Reject # request", other: "Reject # requests" });
  const decide = async () => {
    await run(of);
    onClear();
    onClose();
  };
  return (
    <Dialog
      title={`${verb}?`}
      onClose={onClose}
      foot={
        <>
          <Button onClick={onClose}>{t("Cancel")}</Button>
          <Button kind={isApproval ? "main" : "bad"} busy={isBusy} onClick={() => void decide()}>
            {verb}
          </Button>
        </>
      }
    >
      <ul className="mb-3 list-disc pl-5">
        {of.slice(0, NAMED).map(({ id, title, automationName }) => (
          <li key={id} dir="auto" className="[overflow-wrap:anywhere]">
            {automationName ? `${title} (${automationName})` : title}
          </li>
        ))}
        {of.length > NAMED && (
          <li className="text-soft">{plural(of.length - NAMED, { one: "# more", other: "# more" })}</li>
        )}
      </ul>
      {!isApproval && (
        <TextField
          label={t("Reason for all of them (optional)")}
          value={reason}
          onChange={setReason}
          maxLength={4096}
        />
      )}
    </Dialog>
  );
}

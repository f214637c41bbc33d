import { Check, X } from "lucide-react";
import { useState } from "react";
import { useChange } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { TextField } from "../base/labelled.tsx";
import { messagesBy } from "../form/frame.tsx";

const TOUCHES = [
  "/approvals",
  "/decisions",
  "/action-runs",
  "/automation-runs",
  "/chat/threads",
  "/overview",
] as const;

/** The decision of an approval: what sends it, and its state. */
export function useDecision(id: string, done: { approved: string; rejected: string }) {
  const path = { approval_id: id };
  const approve = useChange("POST /api/v1/approvals/{approval_id}/approve", {
    touches: TOUCHES,
    tellsErrors: false,
    done: done.approved,
  });
  const reject = useChange("POST /api/v1/approvals/{approval_id}/reject", {
    touches: TOUCHES,
    tellsErrors: false,
    done: done.rejected,
  });
  return {
    approve(formResponse?: unknown) {
      reject.reset();
      approve.mutate({
        path,
        body: formResponse === undefined ? {} : { formResponse: formResponse as never },
      });
    },
    reject(rejectionReason: string | null) {
      approve.reset();
      reject.mutate({ path, body: { rejectionReason } });
    },
    error: approve.error ?? reject.error,
    isApproving: approve.isPending,
    isRejecting: reject.isPending,
    isBusy: approve.isPending || reject.isPending,
    isMade: approve.isSuccess || reject.isSuccess,
  };
}

interface Props {
  of: ReturnType<typeof useDecision>;
  /** ID of the form that approves. Without one, the button does. */
  form?: string;
}

/** The button that approves, and the form that rejects. */
export function DecisionButtons({ of, form }: Props) {
  const [reason, setReason] = useState("");
  return (
    <div className="flex flex-wrap items-end justify-between gap-3">
      <Button
        {...(form === undefined ? { onClick: () => of.approve() } : { form, type: "submit" })}
        kind="main"
        data-approve
        icon={Check}
        busy={of.isApproving}
        disabled={of.isBusy}
      >
        {t("Approve")}
      </Button>
      <form
        className="flex grow flex-wrap items-end gap-2 sm:max-w-md"
        onSubmit={(event) => {
          event.preventDefault();
          of.reject(reason || null);
        }}
      >
        <div className="grow basis-48" data-reason>
          <TextField
            label={t("Reason for rejection (optional)")}
            value={reason}
            onChange={setReason}
            fault={messagesBy(of.error)("rejectionReason")}
            maxLength={4096}
          />
        </div>
        <Button type="submit" kind="bad" icon={X} busy={of.isRejecting} disabled={of.isBusy}>
          {t("Reject")}
        </Button>
      </form>
    </div>
  );
}

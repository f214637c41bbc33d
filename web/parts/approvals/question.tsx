import { Check, X } from "lucide-react";
import { type ReactNode, useId, useState } from "react";
import type { Approval, Schema } from "../../calls.ts";
import { useChange, useMay } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { TextField } from "../base/labelled.tsx";
import { Locked } from "../base/locked.tsx";
import { Section } from "../base/page.tsx";
import { Tree } from "../base/tree.tsx";
import { AnswerForm, Faults, type Values } from "../form/form.tsx";
import { faultsOf, messagesBy, Refusal } from "../form/frame.tsx";
import { propertiesOf, startValue } from "../form/schema.ts";

/** If a schema has no fields to show, the answer is entered as JSON. */
const AS_JSON: Schema = { properties: { formResponse: { title: t("Answer") } } };

interface Props {
  of: Pick<Approval, "id" | "title" | "description" | "formSchema" | "context" | "decisionType">;
  aside: ReactNode;
  /** Further context for the decision. */
  children?: ReactNode;
}

/** The request and, for users who may decide it, its form. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: one form, from the question to its buttons
export function Question({ of, aside, children }: Props) {
  const { id, title, description, formSchema, context, decisionType } = of;
  const may = useMay("member");
  const [answer, setAnswer] = useState<Values>(() => startValue(formSchema ?? {}, true));
  const [reason, setReason] = useState("");
  const decided = {
    touches: ["/approvals", "/decisions", "/action-runs", "/automation-runs", "/overview"] as const,
    tellsErrors: false,
  };
  const approve = useChange("POST /api/v1/approvals/{approval_id}/approve", {
    ...decided,
    done: t("Approved: {title}", { title }),
  });
  const reject = useChange("POST /api/v1/approvals/{approval_id}/reject", {
    ...decided,
    done: t("Rejected: {title}", { title }),
  });
  const error = approve.error ?? reject.error;
  const isBusy = approve.isPending || reject.isPending;
  const path = { approval_id: id };
  const form = useId();
  const isFilled = decisionType === "form_input" || Object.keys(answer).length > 0;
  return (
    <div data-question={id}>
      <Section
        title={
          <span dir="auto" className="[overflow-wrap:anywhere]">
            {title}
          </span>
        }
        aside={aside}
      >
        <Locked isOn={isBusy}>
          <form
            id={form}
            className="space-y-4"
            onSubmit={(event) => {
              event.preventDefault();
              reject.reset();
              approve.mutate({
                path,
                body: formSchema && isFilled ? { formResponse: answer as never } : {},
              });
            }}
          >
            <Refusal error={error} />
            <Faults
              of={faultsOf(error)}
              drawn={[
                ["body", "formResponse"],
                ["body", "rejectionReason"],
              ]}
            />
            {description && (
              <p className="text-sm whitespace-pre-wrap [overflow-wrap:anywhere]" dir="auto">
                {description}
              </p>
            )}
            {context && <Tree value={context} copyLabel={t("Copy context as JSON")} />}
            {children}
            {may && formSchema && (
              <div data-answer>
                {propertiesOf(formSchema).length > 0 ? (
                  <AnswerForm
                    schema={formSchema}
                    value={answer}
                    onChange={setAnswer}
                    at={["body", "formResponse"]}
                    faults={faultsOf(error)}
                  />
                ) : (
                  <AnswerForm
                    schema={AS_JSON}
                    value={{ formResponse: answer }}
                    onChange={({ formResponse }) => setAnswer((formResponse ?? {}) as Values)}
                    at={["body"]}
                    faults={faultsOf(error)}
                  />
                )}
              </div>
            )}
          </form>
          {may && (
            <div className="mt-4 flex flex-wrap items-end justify-between gap-3 border-t border-line pt-4">
              <Button
                form={form}
                type="submit"
                kind="main"
                data-approve
                icon={Check}
                busy={approve.isPending}
                disabled={isBusy}
              >
                {t("Approve")}
              </Button>
              <form
                className="flex grow flex-wrap items-end gap-2 sm:max-w-md"
                onSubmit={(event) => {
                  event.preventDefault();
                  approve.reset();
                  reject.mutate({ path, body: { rejectionReason: reason || null } });
                }}
              >
                <div className="grow basis-48" data-reason>
                  <TextField
                    label={t("Reason for rejection (optional)")}
                    value={reason}
                    onChange={setReason}
                    fault={messagesBy(error)("rejectionReason")}
                    maxLength={4096}
                  />
                </div>
                <Button type="submit" kind="bad" icon={X} busy={reject.isPending} disabled={isBusy}>
                  {t("Reject")}
                </Button>
              </form>
            </div>
          )}
        </Locked>
      </Section>
    </div>
  );
}

import { type ReactNode, useId, useState } from "react";
import type { Approval, Schema } from "../../calls.ts";
import { useMay } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Locked } from "../base/locked.tsx";
import { Section } from "../base/page.tsx";
import { Tree } from "../base/tree.tsx";
import { AnswerForm, Faults, type Values } from "../form/form.tsx";
import { faultsOf, Refusal } from "../form/frame.tsx";
import { propertiesOf, startValue } from "../form/schema.ts";
import { DecisionButtons, useDecision } from "./decision.tsx";

/** If a schema has no fields to show, the answer is entered as JSON. */
const AS_JSON: Schema = { properties: { formResponse: { title: t("Answer") } } };

interface Props {
  of: Pick<Approval, "id" | "title" | "description" | "formSchema" | "context" | "decisionType">;
  aside: ReactNode;
  /** Further context for the decision. */
  children?: ReactNode;
}

/** The request and, for users who may decide it, its form. */
export function Question({ of, aside, children }: Props) {
  const { id, title, description, formSchema, context, decisionType } = of;
  const may = useMay("member");
  const [answer, setAnswer] = useState<Values>(() => startValue(formSchema ?? {}, true));
  const decision = useDecision(id, {
    approved: t("Approved: {title}", { title }),
    rejected: t("Rejected: {title}", { title }),
  });
  const { error } = decision;
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
        <Locked isOn={decision.isBusy}>
          <form
            id={form}
            className="space-y-4"
            onSubmit={(event) => {
              event.preventDefault();
              decision.approve(formSchema && isFilled ? answer : undefined);
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
            <div className="mt-4 border-t border-line pt-4">
              <DecisionButtons of={decision} form={form} />
            </div>
          )}
        </Locked>
      </Section>
    </div>
  );
}

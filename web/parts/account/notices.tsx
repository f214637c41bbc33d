import { useState } from "react";
import type { Reply } from "../../calls.ts";
import { useApi, useChange } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Shown } from "../base/page.tsx";
import { SchemaForm, type Values } from "../form/form.tsx";
import { FormFrame, faultsOf } from "../form/frame.tsx";

type Preferences = Reply<"GET /api/v1/users/me/notices">;

const SCHEMA = {
  type: "object",
  properties: {
    approvals: {
      title: t("Approvals"),
      description: t("all: every approval you can decide. assigned: only approvals assigned to you."),
      enum: ["all", "assigned", "none"] satisfies Preferences["approvals"][],
    },
    failures: {
      title: t("Failures"),
      description: t(
        "mine: alerts addressed to you, and alerts without recipients of automations you created. all: alerts of all automations.",
      ),
      enum: ["mine", "all", "none"] satisfies Preferences["failures"][],
    },
  },
  required: ["approvals", "failures"],
};

/** What is mailed to the person. */
export function OwnNotices() {
  const preferences = useApi("GET /api/v1/users/me/notices", {});
  return <Shown of={preferences}>{(before) => <Choices before={before} />}</Shown>;
}

function Choices({ before }: { before: Preferences }) {
  const { warnings = [], ...chosen } = before;
  const [value, setValue] = useState<Values>(chosen);
  const save = useChange("PATCH /api/v1/users/me/notices", {
    touches: ["/notices"],
    tellsErrors: false,
    done: t("Notice settings saved"),
  });
  return (
    <>
      <p className="mb-4 max-w-prose text-sm text-soft">
        {t("Emails you receive from all organizations. Invitations and password resets are always sent.")}
      </p>
      {warnings.map((warning) => (
        <p key={warning} className="card mb-4 p-4 text-sm text-soft">
          {warning}
        </p>
      ))}
      <FormFrame
        title={t("Email notices")}
        call={save}
        drawn={["approvals", "failures"]}
        isChanged={value.approvals !== before.approvals || value.failures !== before.failures}
        onSend={() => save.mutate({ body: value as never })}
      >
        <SchemaForm
          schema={SCHEMA}
          value={value}
          onChange={setValue}
          at={["body"]}
          faults={faultsOf(save.error)}
        />
      </FormFrame>
    </>
  );
}

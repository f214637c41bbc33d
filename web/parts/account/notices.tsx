import { useState } from "react";
import type { Reply } from "../../calls.ts";
import { useApi, useChange } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { changesOf } from "../base/changes.ts";
import { Shown } from "../base/page.tsx";
import { SchemaForm, type Values } from "../form/form.tsx";
import { FormFrame, faultsOf } from "../form/frame.tsx";

type Preferences = Reply<"GET /api/v1/users/me/notices">;

const choices = <T extends string>(title: string, of: readonly (readonly [T, string, string?])[]) => ({
  title,
  anyOf: of.map(([value, name, description]) => ({
    const: value,
    title: name,
    ...(description === undefined ? {} : { description }),
  })),
});

const SCHEMA = {
  type: "object",
  properties: {
    approvals: choices<Preferences["approvals"]>(t("Approvals"), [
      ["all", t("All"), t("Every approval you can decide.")],
      ["assigned", t("Assigned to me"), t("Only approvals assigned to you.")],
      ["none", t("None")],
    ]),
    failures: choices<Preferences["failures"]>(t("Failures"), [
      [
        "mine",
        t("Mine"),
        t("Alerts addressed to you, and alerts without recipients of automations you created."),
      ],
      ["all", t("All"), t("Alerts of all automations.")],
      ["none", t("None")],
    ]),
  },
  required: ["approvals", "failures"],
};

/** Notices that the user receives by email. */
export function OwnNotices() {
  const preferences = useApi("GET /api/v1/users/me/notices", {});
  return <Shown of={preferences}>{(before) => <Choices before={before} />}</Shown>;
}

function Choices({ before }: { before: Preferences }) {
  const { warnings = [], ...chosen } = before;
  const [changes, setChanges] = useState<Values>({});
  const save = useChange("PATCH /api/v1/users/me/notices", {
    touches: ["/notices"],
    tellsErrors: false,
    done: t("Notice settings saved"),
    onDone: () => setChanges({}),
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
        isChanged={Object.keys(changes).length > 0}
        onSend={() => save.mutate({ body: changes as never })}
      >
        <SchemaForm
          schema={SCHEMA}
          value={{ ...chosen, ...changes }}
          onChange={(value) => setChanges(changesOf<Values>(chosen, value))}
          at={["body"]}
          faults={faultsOf(save.error)}
        />
      </FormFrame>
    </>
  );
}

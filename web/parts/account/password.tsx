import { useState } from "react";
import { useChange } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Check } from "../base/fields.tsx";
import { TextField } from "../base/labelled.tsx";
import { FormFrame, messagesBy } from "../form/frame.tsx";

const EMPTY = { currentPassword: "", newPassword: "", endTokens: true };

/** Changes the user's own password. */
export function OwnPassword() {
  const [draft, setDraft] = useState(EMPTY);
  const change = useChange("POST /api/v1/users/me/password", {
    touches: ["/sessions", "/access-tokens"],
    tellsErrors: false,
    done: t("Password changed"),
    onDone: () => setDraft(EMPTY),
  });
  const messageFor = messagesBy(change.error);
  return (
    <FormFrame
      title={t("Password")}
      call={change}
      drawn={["currentPassword", "newPassword"]}
      isChanged={draft.currentPassword !== "" && draft.newPassword !== ""}
      verb={t("Change password")}
      onSend={() => change.mutate({ body: draft })}
    >
      <div className="grid gap-4 sm:grid-cols-2">
        <TextField
          label={t("Current password")}
          type="password"
          value={draft.currentPassword}
          onChange={(currentPassword) => setDraft({ ...draft, currentPassword })}
          fault={messageFor("currentPassword")}
        />
        <TextField
          label={t("New password")}
          type="password"
          value={draft.newPassword}
          onChange={(newPassword) => setDraft({ ...draft, newPassword })}
          fault={messageFor("newPassword")}
          about={t("At least 12 characters. You will be signed out of all other sessions.")}
        />
      </div>
      <Check
        label={t("Also revoke my access tokens and unlink my Slack accounts")}
        value={draft.endTokens}
        onChange={(endTokens) => setDraft({ ...draft, endTokens })}
      />
    </FormFrame>
  );
}

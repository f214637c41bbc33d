import { Trash2 } from "lucide-react";
import { useState } from "react";
import { useChange, useMe } from "../../data.ts";
import { leaveNothing } from "../../sign-out.ts";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { FileButton } from "../base/file-button.tsx";
import { TextField } from "../base/labelled.tsx";
import { Section } from "../base/page.tsx";
import { cantUndo } from "../base/texts.ts";
import { FormDialog } from "../form/dialog.tsx";
import { messagesBy } from "../form/frame.tsx";

/** Personal data: download and erasure. */
export function OwnData() {
  const { user } = useMe();
  const [isAsking, setAsking] = useState(false);
  return (
    <>
      <Section title={t("Export your data")}>
        <div className="flex flex-wrap items-center justify-between gap-3">
          <p className="max-w-prose text-sm text-soft">
            {t(
              "Download your profile, memberships, sessions, tokens (without secrets), chats and decisions as JSON.",
            )}
          </p>
          <FileButton call="GET /api/v1/users/me/export" input={{}} name="my-data.json" verb={t("Export")} />
        </div>
      </Section>
      <Section title={t("Erase your account")}>
        <div className="flex flex-wrap items-center justify-between gap-3">
          <p className="max-w-prose text-sm text-soft">
            {t(
              "You are signed out everywhere, and your profile, tokens and chats are erased. Everything you created in organizations is kept, without your name. Backups contain your data until they expire.",
            )}
          </p>
          <Button kind="bad" icon={Trash2} onClick={() => setAsking(true)}>
            {t("Erase account")}
          </Button>
        </div>
        {isAsking && user && <Erase email={user.email} onClose={() => setAsking(false)} />}
      </Section>
    </>
  );
}

function Erase({ email, onClose }: { email: string; onClose: () => void }) {
  const [confirm, setConfirm] = useState("");
  const erase = useChange("DELETE /api/v1/users/me", {
    touches: [],
    tellsErrors: false,
    onDone: leaveNothing,
  });
  return (
    <FormDialog
      title={t("Erase your account?")}
      verb={t("Erase account")}
      isBad
      call={erase}
      onClose={onClose}
      onSend={() => erase.mutate({ body: { confirm } })}
    >
      <p className="text-soft">{cantUndo()}</p>
      <TextField
        label={t("Your email address")}
        isRequired
        value={confirm}
        onChange={setConfirm}
        fault={messagesBy(erase.error)("confirm")}
        about={t("Type {email} to confirm.", { email })}
      />
    </FormDialog>
  );
}

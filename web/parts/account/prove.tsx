import { useState } from "react";
import { useChange } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { TextField } from "../base/labelled.tsx";
import { FormDialog } from "../form/dialog.tsx";

/** Asks for the password or a code if the last sign-in is too long ago for the request. */
export default function Prove({ onDone }: { onDone: () => void }) {
  const [typed, setTyped] = useState("");
  const confirm = useChange("POST /api/v1/auth/confirm", {
    touches: [],
    tellsErrors: false,
    done: t("Identity confirmed. Try again."),
    onDone,
  });
  const isCode = /^\d{6}$/.test(typed.trim());
  return (
    <FormDialog
      title={t("Confirm your identity")}
      verb={t("Confirm")}
      call={confirm}
      onClose={onDone}
      onSend={() => confirm.mutate({ body: isCode ? { code: typed } : { password: typed } })}
    >
      <p className="text-soft">
        {t("You signed in over an hour ago. Enter your password, or a code from your authenticator app.")}
      </p>
      <TextField label={t("Password or code")} type="password" value={typed} onChange={setTyped} />
    </FormDialog>
  );
}

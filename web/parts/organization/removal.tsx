import { Trash2 } from "lucide-react";
import { useState } from "react";
import { chooseOrganization } from "../../api.ts";
import { base } from "../../base.ts";
import type { Reply } from "../../calls.ts";
import { useChange } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { TextField } from "../base/labelled.tsx";
import { Section } from "../base/page.tsx";
import { FormDialog } from "../form/dialog.tsx";
import { messagesBy } from "../form/frame.tsx";

type Organization = Reply<"GET /api/v1/organizations/current">;

/** For owners: removes the organization for everyone immediately. */
export function OrganizationRemoval({ organization }: { organization: Organization }) {
  const [isAsking, setAsking] = useState(false);
  return (
    <Section title={t("Remove organization")}>
      <div className="flex flex-wrap items-center justify-between gap-3">
        <p className="max-w-prose text-sm text-soft">
          {t(
            "All members lose access immediately, and runs stop. An operator can restore the organization for 7 days. After that, it is erased with all of its data.",
          )}
        </p>
        <Button kind="bad" icon={Trash2} onClick={() => setAsking(true)}>
          {t("Remove")}
        </Button>
      </div>
      {isAsking && <Remove organization={organization} onClose={() => setAsking(false)} />}
    </Section>
  );
}

function Remove({ organization: { name }, onClose }: { organization: Organization; onClose: () => void }) {
  const [confirm, setConfirm] = useState("");
  const remove = useChange("DELETE /api/v1/organizations/current", {
    touches: [],
    tellsErrors: false,
    onDone() {
      chooseOrganization(null);
      location.assign(`${base}/`);
    },
  });
  return (
    <FormDialog
      title={t("Remove {name}?", { name })}
      verb={t("Remove organization")}
      isBad
      call={remove}
      onClose={onClose}
      onSend={() => remove.mutate({ body: { confirm } })}
    >
      <TextField
        label={t("Organization name")}
        isRequired
        value={confirm}
        onChange={setConfirm}
        fault={messagesBy(remove.error)("confirm")}
        about={t("Type {name} to confirm.", { name })}
      />
    </FormDialog>
  );
}

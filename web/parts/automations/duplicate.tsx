import { Copy } from "lucide-react";
import { useState } from "react";
import { useLocation } from "wouter";
import type { Automation, Reply } from "../../calls.ts";
import { useChange } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { IconButton } from "../base/button.tsx";
import { ShownOnce } from "../base/shown-once.tsx";

type Copied = Reply<"POST /api/v1/automations/{automation_id}/duplicate">;

/** Creates a copy as a draft, and opens it. */
export function DuplicateAutomation({ automation }: { automation: Automation }) {
  const [, go] = useLocation();
  const [made, setMade] = useState<Copied | null>(null);
  const open = ({ id }: Copied) => go(`/automations/${id}/edit`);
  const secretOf = ({ config }: Copied) => (config as { secret?: string }).secret;
  const duplicate = useChange("POST /api/v1/automations/{automation_id}/duplicate", {
    touches: ["/automations"],
    done: ({ name }) => t("{name} created", { name }),
    onDone: (copy) => (secretOf(copy) ? setMade(copy) : open(copy)),
  });
  return (
    <>
      <IconButton
        icon={Copy}
        label={t("Duplicate automation")}
        disabled={duplicate.isPending}
        onClick={() => duplicate.mutate({ path: { automation_id: automation.id }, body: {} })}
      />
      {made && (
        <ShownOnce
          title={t("Save your signing secret")}
          copyLabel={t("Copy signing secret")}
          text={secretOf(made) ?? ""}
          onClose={() => open(made)}
        >
          {t("Senders use it to sign requests.")}
        </ShownOnce>
      )}
    </>
  );
}

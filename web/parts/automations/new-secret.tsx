import { KeyRound } from "lucide-react";
import { useState } from "react";
import type { Automation } from "../../calls.ts";
import { useChange } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { Confirm } from "../base/dialog.tsx";
import { ShownOnce } from "../base/shown-once.tsx";
import { choiceOf } from "./sender-choices.ts";

const SECRET_BYTES = 32;

/** In the format of secrets that Weir generates for this sender. */
export function makeSecret(sender: string): string {
  const bytes = btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(SECRET_BYTES))));
  const isPlain = sender === "telegram";
  return `whsec_${isPlain ? bytes.replaceAll("+", "-").replaceAll("/", "_").replace("=", "") : bytes}`;
}

/** Replaces a secret that was lost or never shown. */
export function NewSecret({
  automation,
  onMade,
}: {
  automation: Automation;
  onMade: (secret: string) => void;
}) {
  const [isAsking, setAsking] = useState(false);
  const [made, setMade] = useState<string | null>(null);
  const patch = useChange("PATCH /api/v1/automations/{automation_id}", {
    touches: ["/automations"],
    onDone: () => setAsking(false),
  });
  const make = () => {
    const secret = makeSecret(choiceOf(automation.config));
    patch.mutate(
      { path: { automation_id: automation.id }, body: { config: { secret } as never } },
      {
        onSuccess: () => {
          setMade(secret);
          onMade(secret);
        },
      },
    );
  };
  return (
    <>
      <Button icon={KeyRound} onClick={() => setAsking(true)}>
        {t("Rotate secret")}
      </Button>
      {isAsking && (
        <Confirm
          title={t("Rotate signing secret?")}
          verb={t("Rotate")}
          isBusy={patch.isPending}
          onConfirm={make}
          onClose={() => setAsking(false)}
        >
          <p>{t("Requests signed with the current secret will be rejected immediately.")}</p>
        </Confirm>
      )}
      {made && (
        <ShownOnce
          title={t("Save your signing secret")}
          copyLabel={t("Copy signing secret")}
          text={made}
          onClose={() => setMade(null)}
        >
          {t("Senders use it to sign requests.")}
        </ShownOnce>
      )}
    </>
  );
}

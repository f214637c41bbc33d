import { useApi } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Tester } from "../automations/tester.tsx";
import { LinkButton } from "../base/button.tsx";
import { CopyButton } from "../base/copy.tsx";
import { copyNow } from "../base/texts.ts";

interface Props {
  automationId: string;
  /** Signing secret of a webhook that was just created. Otherwise it is unknown until it is rotated. */
  secret?: string | undefined;
}

/** What to do next with an automation of a bundle. */
export function NextStep({ automationId, secret }: Props) {
  const { data } = useApi("GET /api/v1/automations/{automation_id}", {
    path: { automation_id: automationId },
  });
  if (!data) return null;
  const isWebhook = data.triggerType === "webhook";
  return (
    <div className="border-t border-line px-4 py-3 text-sm">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <p className="min-w-0 text-soft" dir="auto">
          {secret !== undefined
            ? t("Next, save the signing secret of {name} for its sender, and send a test request.", {
                name: data.name,
              })
            : isWebhook
              ? t("Next, rotate the signing secret to see it once, and send a test request.")
              : t("Next, open the automation and run it.")}
        </p>
        <LinkButton href={`/automations/${automationId}${isWebhook ? "?tab=webhook" : ""}`}>
          {isWebhook ? t("Open webhook") : t("Open automation")}
        </LinkButton>
      </div>
      {secret !== undefined && (
        <div className="mt-3">
          <p className="font-medium">{t("Signing secret")}</p>
          <p className="mb-1 text-soft">{copyNow()}</p>
          <div className="mb-4 flex items-center gap-2 rounded-md border border-line bg-ground px-3 py-2">
            <code className="min-w-0 grow font-mono text-xs break-all select-all">{secret}</code>
            <CopyButton text={secret} label={t("Copy signing secret")} />
          </div>
          <Tester automation={data} known={secret} />
        </div>
      )}
    </div>
  );
}

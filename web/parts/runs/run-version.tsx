import { RotateCcw } from "lucide-react";
import { useState } from "react";
import type { AutomationRun } from "../../calls.ts";
import { useApi, useChange, useMay } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { Dialog } from "../base/dialog.tsx";

export interface LatestVersion {
  /** Null until known, and if the run has no version. */
  latest: number | null;
  isKnown: boolean;
}

/** The latest version of a run's automation. */
export function useLatestVersion({ automationId, automationVersion }: AutomationRun): LatestVersion {
  const { data, isPending } = useApi(
    "GET /api/v1/automations/{automation_id}/versions",
    { path: { automation_id: automationId }, query: { limit: 1 } },
    { enabled: automationVersion !== null },
  );
  return { latest: data?.versions[0]?.version ?? null, isKnown: automationVersion === null || !isPending };
}

interface Props {
  run: AutomationRun;
  latest: number | null;
}

/** The version that a run used. An old one can be restored. */
export function RunVersion({ run: { automationId, automationVersion: version }, latest }: Props) {
  const may = useMay("member");
  const [asks, setAsks] = useState(false);
  const path = { automation_id: automationId };
  const restore = useChange("POST /api/v1/automations/{automation_id}/versions/{version}/restore", {
    touches: ["/automations"],
    done: t("Version {version} restored", { version: version ?? 0 }),
    onDone: () => setAsks(false),
  });
  if (version === null || latest === null) return null;
  const isLatest = version === latest;
  const verb = t("Restore version {version}", { version });
  return (
    <span className="inline-flex items-center gap-2">
      {isLatest
        ? t("Version {version}", { version })
        : t("Version {version}. The latest is {latest}.", { version, latest })}
      {may && !isLatest && (
        <Button icon={RotateCcw} onClick={() => setAsks(true)}>
          {verb}
        </Button>
      )}
      {asks && (
        <Dialog
          title={t("Restore version {version}?", { version })}
          onClose={() => setAsks(false)}
          foot={
            <>
              <Button onClick={() => setAsks(false)}>{t("Cancel")}</Button>
              <Button
                kind="main"
                busy={restore.isPending}
                onClick={() => restore.mutate({ path: { ...path, version: String(version) } })}
              >
                {verb}
              </Button>
            </>
          }
        >
          <p className="text-soft">
            {t(
              "Its name, description and steps become version {next}, and new runs use them. Version {latest} is kept, and so is an unpublished draft.",
              { next: latest + 1, latest },
            )}
          </p>
        </Dialog>
      )}
    </span>
  );
}

import { PageHead, useTab } from "../parts/base/page.tsx";
import { ActionRuns } from "../parts/runs/action-runs.tsx";
import { AutomationRuns } from "../parts/runs/automation-runs.tsx";
import { t } from "../texts/text.ts";

const TABS = [
  ["actions", t("Action runs")],
  ["automations", t("Automation runs")],
] as const;

export default function Runs() {
  const { current, bar } = useTab(TABS);
  return (
    <>
      <PageHead title={t("Runs")} about={t("Every run of every action and automation, newest first.")} />
      {bar}
      {current === "automations" ? <AutomationRuns /> : <ActionRuns />}
    </>
  );
}

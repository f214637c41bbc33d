import { useSearchParams } from "wouter";
import { PageHead, useTab } from "../parts/base/page.tsx";
import { ActionRuns } from "../parts/runs/action-runs.tsx";
import { AutomationRuns } from "../parts/runs/automation-runs.tsx";
import { t } from "../texts/text.ts";

const TABS = [
  ["automations", t("Automation runs")],
  ["actions", t("Action runs")],
] as const;

/** Filters that exist only for action runs. */
const OF_ACTIONS = ["kind", "action", "automation_run"];

export default function Runs() {
  const [search] = useSearchParams();
  const { current, bar } = useTab(
    TABS,
    OF_ACTIONS.some((name) => search.has(name)) ? "actions" : "automations",
  );
  return (
    <>
      <PageHead title={t("Runs")} about={t("Every run of every action and automation, newest first.")} />
      {bar}
      {current === "actions" ? <ActionRuns /> : <AutomationRuns />}
    </>
  );
}

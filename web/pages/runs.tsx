import { PageHead, useTab } from "../parts/base/page.tsx";
import { ActionRuns } from "../parts/runs/action-runs.tsx";
import { AutomationRuns } from "../parts/runs/automation-runs.tsx";

const TABS = [
  ["actions", "Action runs"],
  ["automations", "Automation runs"],
] as const;

export default function Runs() {
  const { current, bar } = useTab(TABS);
  return (
    <>
      <PageHead title="Runs" about="Every run of every action and automation, newest first." />
      {bar}
      {current === "automations" ? <AutomationRuns /> : <ActionRuns />}
    </>
  );
}

import { Workflow } from "lucide-react";
import type { Automation } from "../calls.ts";
import { useApi } from "../data.ts";
import { named } from "../parts/base/named.ts";
import { Status } from "../parts/base/status.tsx";
import { When } from "../parts/base/time.tsx";
import { AUTOMATION_STATUSES, askOf, LATEST_RUN, ListPage } from "../parts/layout/list-page.tsx";
import { type Column, Named, useFilters } from "../parts/table/table.tsx";

export const TRIGGERS = named<Automation["triggerType"]>({
  manual: "Manual",
  webhook: "Webhook",
  form: "Form",
  schedule: "Schedule",
  event: "Event",
});

const COLUMNS: readonly Column<Automation>[] = [
  {
    name: "Name",
    isWide: true,
    cell: ({ name, description, slug }) => <Named name={name} below={description ?? slug} />,
  },
  {
    name: "Trigger",
    isMinor: true,
    cell: ({ triggerType, nextRunAt }) => (
      <span className="text-soft">
        {TRIGGERS.find(([id]) => id === triggerType)?.[1]}
        {nextRunAt && (
          <>
            , <When at={nextRunAt} />
          </>
        )}
      </span>
    ),
  },
  { name: "Status", cell: ({ status }) => <Status status={status} /> },
  LATEST_RUN,
];

export default function Automations() {
  const filters = useFilters();
  const automations = useApi(
    "GET /api/v1/automations",
    {
      query: {
        ...askOf(filters),
        trigger_type: (filters.get("trigger") || undefined) as Automation["triggerType"] | undefined,
        status: (filters.get("status") || undefined) as Automation["status"] | undefined,
      },
    },
    { keep: true },
  );
  return (
    <ListPage
      title="Automations"
      about="Steps that run on a webhook, a schedule, an event, or on demand."
      create="New automation"
      path="/automations"
      icon={Workflow}
      filters={filters}
      choices={[
        { label: "Trigger", name: "trigger", options: TRIGGERS },
        { label: "Status", name: "status", options: AUTOMATION_STATUSES },
      ]}
      of={automations}
      rowsOf={(page) => page.automations}
      columns={COLUMNS}
      noMatches="No automations match these filters"
      none="No automations yet"
      first="Create automation"
      empty="An automation runs actions when a webhook arrives, on a schedule, in response to an event, or manually."
    />
  );
}

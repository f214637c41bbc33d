import { Workflow } from "lucide-react";
import type { Automation } from "../calls.ts";
import { useApi } from "../data.ts";
import { named } from "../parts/base/named.ts";
import { Status } from "../parts/base/status.tsx";
import { When } from "../parts/base/time.tsx";
import { AUTOMATION_STATUSES, askOf, LATEST_RUN, ListPage } from "../parts/layout/list-page.tsx";
import { type Column, Named, useFilters } from "../parts/table/table.tsx";
import { t } from "../texts/text.ts";

export const TRIGGERS = named<Automation["triggerType"]>({
  manual: t("Manual"),
  webhook: t("Webhook"),
  form: t("Form"),
  schedule: t("Schedule"),
  event: t("Event"),
});

const COLUMNS: readonly Column<Automation>[] = [
  {
    name: t("Name"),
    isWide: true,
    cell: ({ name, description, slug }) => <Named name={name} below={description ?? slug} />,
  },
  {
    name: t("Trigger"),
    isMinor: true,
    cell: ({ triggerType, nextRunAt }) => (
      <span className="whitespace-nowrap text-soft">
        {TRIGGERS.find(([id]) => id === triggerType)?.[1]}
        {nextRunAt && (
          <>
            , <When at={nextRunAt} />
          </>
        )}
      </span>
    ),
  },
  { name: t("Status"), cell: ({ status }) => <Status status={status} /> },
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
      title={t("Automations")}
      about={t("Steps that run on a webhook, a schedule, an event, or on demand.")}
      create={t("New automation")}
      path="/automations"
      icon={Workflow}
      filters={filters}
      choices={[
        { label: t("Trigger"), name: "trigger", options: TRIGGERS },
        { label: t("Status"), name: "status", options: AUTOMATION_STATUSES },
      ]}
      of={automations}
      rowsOf={(page) => page.automations}
      columns={COLUMNS}
      noMatches={t("No automations match these filters")}
      none={t("No automations yet")}
      first={t("Create automation")}
      empty={t(
        "An automation runs actions when a webhook arrives, on a schedule, in response to an event, or manually.",
      )}
    />
  );
}

import { Workflow } from "lucide-react";
import type { Automation } from "../calls.ts";
import { useApi } from "../data.ts";
import { AUTOMATIONS_MOVING, BulkAutomations } from "../parts/automations/bulk.tsx";
import { TriggerIcon } from "../parts/base/kind-icons.tsx";
import { named } from "../parts/base/named.ts";
import { Status } from "../parts/base/status.tsx";
import { When } from "../parts/base/time.tsx";
import { AUTOMATION_STATUSES, askOf, LATEST_RUN, ListPage } from "../parts/layout/list-page.tsx";
import { useFolderBar } from "../parts/table/folders.tsx";
import { type Column, Named, useFilters, useSort } from "../parts/table/table.tsx";
import { pathIn, TagChips, useTagChoice } from "../parts/table/tags.tsx";
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
    sortBy: "name",
    cell: ({ name, description, slug }) => <Named name={name} below={description ?? slug} />,
  },
  { name: t("Tags"), isMinor: true, cell: ({ tags }) => <TagChips tags={tags} most={2} /> },
  {
    name: t("Trigger"),
    isMinor: true,
    cell: ({ triggerType, nextRunAt }) => (
      <span className="whitespace-nowrap text-soft">
        <TriggerIcon type={triggerType} />
        {TRIGGERS.find(([id]) => id === triggerType)?.[1]}
        {nextRunAt && (
          <>
            , <When at={nextRunAt} />
          </>
        )}
      </span>
    ),
  },
  { name: t("Status"), sortBy: "status", cell: ({ status }) => <Status status={status} isShort /> },
  LATEST_RUN,
  {
    name: t("Updated"),
    isRight: true,
    isMinor: true,
    sortBy: "updated_at",
    cell: ({ updatedAt }) => <When at={updatedAt} />,
  },
  {
    name: t("Created"),
    isRight: true,
    isMinor: true,
    sortBy: "created_at",
    cell: ({ createdAt }) => <When at={createdAt} />,
  },
];

const SORTS = ["name", "status", "updated_at", "created_at"] as const;

export default function Automations() {
  const filters = useFilters();
  const { query, sort } = useSort(filters, SORTS, "created_at");
  const tags = useTagChoice("automations");
  const automations = useApi(
    "GET /api/v1/automations",
    {
      query: {
        ...askOf(filters),
        ...query,
        tag: filters.get("tag") || undefined,
        folder: pathIn(filters.get("folder")) || undefined,
        trigger_type: (filters.get("trigger") || undefined) as Automation["triggerType"] | undefined,
        status: (filters.get("status") || undefined) as Automation["status"] | undefined,
      },
    },
    { keep: true },
  );
  const folders = useFolderBar({
    noun: "automations",
    filters,
    rows: automations.data?.automations ?? [],
    moving: AUTOMATIONS_MOVING,
  });
  return (
    <ListPage
      title={t("Automations")}
      about={t("Steps that run on a webhook, a schedule, an event, or on demand.")}
      create={t("New automation")}
      path="/automations"
      icon={Workflow}
      filters={filters}
      folders={folders}
      choices={[
        { label: t("Trigger"), name: "trigger", options: TRIGGERS },
        { label: t("Status"), name: "status", options: AUTOMATION_STATUSES },
        ...tags,
      ]}
      of={automations}
      rowsOf={(page) => page.automations}
      columns={COLUMNS}
      sort={sort}
      bulk={(chosen, onDone) => <BulkAutomations chosen={chosen} onDone={onDone} />}
      noMatches={t("No automations match these filters")}
      none={t("No automations yet")}
      first={t("Create automation")}
      empty={t(
        "An automation runs actions when a webhook arrives, on a schedule, in response to an event, or manually.",
      )}
    />
  );
}

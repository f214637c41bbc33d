import { Zap } from "lucide-react";
import type { Action } from "../calls.ts";
import { useApi } from "../data.ts";
import { useActionKinds } from "../parts/base/action-kinds.ts";
import { Status } from "../parts/base/status.tsx";
import { When } from "../parts/base/time.tsx";
import { askOf, LATEST_RUN, ListPage, ON_OFF } from "../parts/layout/list-page.tsx";
import { type Column, Named, useFilters } from "../parts/table/table.tsx";
import { t } from "../texts/text.ts";

const COLUMNS: readonly Column<Action>[] = [
  { name: t("Name"), isWide: true, cell: ({ name, slug }) => <Named name={name} below={slug} /> },
  { name: t("Kind"), isMinor: true, cell: ({ kind }) => <span className="text-soft">{kind}</span> },
  { name: t("Status"), cell: ({ status }) => <Status status={status} /> },
  LATEST_RUN,
  { name: t("Updated"), isRight: true, isMinor: true, cell: ({ updatedAt }) => <When at={updatedAt} /> },
];

export default function Actions() {
  const filters = useFilters();
  const kinds = useActionKinds();
  const actions = useApi(
    "GET /api/v1/actions",
    {
      query: {
        ...askOf(filters),
        kinds: filters.all("kind") as never[],
        statuses: filters.all("status") as never[],
        sort_by: "updated_at",
      },
    },
    { keep: true },
  );
  return (
    <ListPage
      title={t("Actions")}
      about={t(
        "Reusable units of work. The kind determines what an action does, and the definition configures it.",
      )}
      create={t("New action")}
      path="/actions"
      icon={Zap}
      filters={filters}
      choices={[
        {
          label: t("Kind"),
          name: "kind",
          options: (kinds.data?.kinds ?? []).map(({ kind, title }) => [kind, title] as const),
        },
        { label: t("Status"), name: "status", options: ON_OFF },
      ]}
      of={actions}
      rowsOf={(page) => page.actions}
      columns={COLUMNS}
      noMatches={t("No actions match these filters")}
      none={t("No actions yet")}
      first={t("Create action")}
      empty={t(
        "An action loads data, transforms it with SQL, calls an API or requests an approval, among other things.",
      )}
    />
  );
}

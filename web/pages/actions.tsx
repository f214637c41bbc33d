import { Zap } from "lucide-react";
import type { Action } from "../calls.ts";
import { useApi } from "../data.ts";
import { ACTIONS_MOVING, BulkActions } from "../parts/actions/bulk.tsx";
import { useActionKinds } from "../parts/base/action-kinds.ts";
import { KindTile } from "../parts/base/kind-icons.tsx";
import { Status } from "../parts/base/status.tsx";
import { When } from "../parts/base/time.tsx";
import { askOf, LATEST_RUN, ListPage, ON_OFF } from "../parts/layout/list-page.tsx";
import { useFolderBar } from "../parts/table/folders.tsx";
import { type Column, Named, useFilters, useSort } from "../parts/table/table.tsx";
import { pathIn, TagChips, useTagChoice } from "../parts/table/tags.tsx";
import { t } from "../texts/text.ts";

const columnsOf = (titleOf: (kind: string) => string): readonly Column<Action>[] => [
  {
    name: t("Name"),
    isWide: true,
    sortBy: "name",
    cell: ({ name, slug }) => <Named name={name} below={slug} />,
  },
  { name: t("Tags"), isMinor: true, cell: ({ tags }) => <TagChips tags={tags} most={2} /> },
  {
    name: t("Kind"),
    isMinor: true,
    sortBy: "kind",
    cell: ({ kind }) => (
      <span className="flex items-center gap-2 text-soft">
        <KindTile kind={kind} />
        <span className="whitespace-nowrap">{titleOf(kind)}</span>
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
];

const SORTS = ["name", "kind", "status", "updated_at"] as const;

export default function Actions() {
  const filters = useFilters();
  const kinds = useActionKinds();
  const { query, sort } = useSort(filters, SORTS, "updated_at");
  const tags = useTagChoice("actions");
  const titleOf = (kind: string) => kinds.data?.kinds.find((each) => each.kind === kind)?.title ?? kind;
  const actions = useApi(
    "GET /api/v1/actions",
    {
      query: {
        ...askOf(filters),
        ...query,
        tag: filters.get("tag") || undefined,
        folder: pathIn(filters.get("folder")) || undefined,
        kinds: filters.all("kind") as never[],
        statuses: filters.all("status") as never[],
      },
    },
    { keep: true },
  );
  const folders = useFolderBar({
    noun: "actions",
    filters,
    rows: actions.data?.actions ?? [],
    moving: ACTIONS_MOVING,
  });
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
      folders={folders}
      choices={[
        {
          label: t("Kind"),
          name: "kind",
          options: (kinds.data?.kinds ?? []).map(({ kind, title }) => [kind, title] as const),
        },
        { label: t("Status"), name: "status", options: ON_OFF },
        ...tags,
      ]}
      of={actions}
      rowsOf={(page) => page.actions}
      columns={columnsOf(titleOf)}
      sort={sort}
      bulk={(chosen, onDone) => <BulkActions chosen={chosen} onDone={onDone} />}
      noMatches={t("No actions match these filters")}
      none={t("No actions yet")}
      first={t("Create action")}
      empty={t(
        "An action loads data, transforms it with SQL, calls an API or requests an approval, among other things.",
      )}
    />
  );
}

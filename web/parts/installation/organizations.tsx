import { Building2, Plus, SearchX } from "lucide-react";
import { useState } from "react";
import type { InstallationOrganization } from "../../calls.ts";
import { useChange } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { Empty } from "../base/page.tsx";
import { Status } from "../base/status.tsx";
import { dayOf, When } from "../base/time.tsx";
import { NewOrganization } from "../organization/forms.tsx";
import { Choice, FilterBar, SearchField } from "../table/filters.tsx";
import { Older, useOlder } from "../table/older.tsx";
import { type Column, Named, Table, useFilters } from "../table/table.tsx";
import { limitsInWords } from "./quotas.ts";

const STATES = [
  ["false", t("Active")],
  ["true", t("Removed")],
] as const;

const COLUMNS: readonly Column<InstallationOrganization>[] = [
  { name: t("Name"), isWide: true, cell: ({ name, slug }) => <Named name={name} below={slug} /> },
  { name: t("Plan"), cell: ({ plan }) => <span className="capitalize">{plan}</span> },
  { name: t("Limits"), isMinor: true, cell: ({ quotas }) => <Limits quotas={quotas} /> },
  { name: t("Status"), cell: (each) => <State organization={each} /> },
  { name: t("Created"), isRight: true, isMinor: true, cell: ({ createdAt }) => <When at={createdAt} /> },
];

/** All organizations, with search and paging. Each links to its settings for operators. */
export function InstallationOrganizations() {
  const filters = useFilters();
  const [isMaking, setMaking] = useState(false);
  const [q, removed] = [filters.get("q"), filters.get("removed")];
  const list = useOlder("GET /api/v1/installation/organizations", {
    query: { ...(q ? { q } : {}), ...(removed ? { removed: removed === "true" } : {}) },
  });
  return (
    <>
      <div className="mb-4 flex justify-end">
        <Button icon={Plus} onClick={() => setMaking(true)}>
          {t("New organization")}
        </Button>
      </div>
      <div className="card">
        <FilterBar onClear={filters.isAny && filters.clear}>
          <SearchField label={t("Name or slug")} value={q} onChange={(value) => filters.set("q", value)} />
          <Choice
            label={t("Status")}
            value={removed}
            options={STATES}
            onChange={(value) => filters.set("removed", value)}
          />
        </FilterBar>
        <Older of={list} rows={8}>
          {(items) =>
            items.length > 0 ? (
              <Table
                label={t("Organizations")}
                columns={COLUMNS}
                rows={items}
                keyOf={({ id }) => id}
                hrefOf={({ id }) => `/installation/organizations/${id}`}
              />
            ) : (
              <Empty
                icon={filters.isAny ? SearchX : Building2}
                title={t("No organizations match these filters")}
                action={<Button onClick={filters.clear}>{t("Clear filters")}</Button>}
              />
            )
          }
        </Older>
      </div>
      {isMaking && <NewOrganization onClose={() => setMaking(false)} />}
    </>
  );
}

function Limits({ quotas }: Pick<InstallationOrganization, "quotas">) {
  const words = limitsInWords(quotas);
  return words === "" ? (
    <span className="text-faint">{t("None")}</span>
  ) : (
    <span className="block min-w-44">{words}</span>
  );
}

function State({ organization }: { organization: InstallationOrganization }) {
  const { restorableUntil } = organization;
  if (restorableUntil === null) return <Status status="active" />;
  return (
    <span className="inline-flex items-center gap-3">
      <span className="text-xs text-warn">
        {t("Will be erased on {restorableUntil}", { restorableUntil: dayOf(restorableUntil) })}
      </span>
      <RestoreOrganization organization={organization} />
    </span>
  );
}

/** Restores a removed organization, with its members and data. */
export function RestoreOrganization({
  organization: { id, name },
}: {
  organization: InstallationOrganization;
}) {
  const restore = useChange("POST /api/v1/installation/organizations/{organization_id}/restore", {
    touches: ["/organizations", "/memberships"],
    done: t("{name} restored", { name }),
  });
  return (
    <Button
      aria-label={t("Restore {name}", { name })}
      busy={restore.isPending}
      onClick={() => restore.mutate({ path: { organization_id: id } })}
    >
      {t("Restore")}
    </Button>
  );
}

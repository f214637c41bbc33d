import { Cable } from "lucide-react";
import type { Connection } from "../calls.ts";
import { useApi } from "../data.ts";
import { Monogram } from "../parts/base/monogram.tsx";
import { named } from "../parts/base/named.ts";
import { useProviders } from "../parts/base/providers.ts";
import { Status, Tag } from "../parts/base/status.tsx";
import { When } from "../parts/base/time.tsx";
import { askOf, ListPage } from "../parts/layout/list-page.tsx";
import { type Column, Named, useFilters } from "../parts/table/table.tsx";
import { serverSentence, t } from "../texts/text.ts";

const STATUSES = named<Connection["status"]>({
  active: t("Active"),
  needs_verification: t("Not verified"),
  error: t("Error"),
  disabled: t("Disabled"),
});

const columnsOf = (titleOf: (provider: string) => string): readonly Column<Connection>[] => [
  {
    name: t("Name"),
    isWide: true,
    cell: ({ name, slug, verificationError }) => (
      <Named name={name} below={verificationError ? serverSentence(verificationError) : slug} />
    ),
  },
  {
    name: t("Provider"),
    isMinor: true,
    cell: ({ provider, isDefault }) => (
      <span className="flex items-center gap-2 text-soft">
        <Monogram name={provider} of={provider} />
        <span className="whitespace-nowrap">{titleOf(provider)}</span>
        {isDefault && <Tag>{t("default")}</Tag>}
      </span>
    ),
  },
  { name: t("Status"), cell: ({ status }) => <Status status={status} /> },
  {
    name: t("Verified"),
    isRight: true,
    isMinor: true,
    cell: ({ lastVerifiedAt }) => <When at={lastVerifiedAt} />,
  },
  { name: t("Last used"), isRight: true, isMinor: true, cell: ({ lastUsedAt }) => <When at={lastUsedAt} /> },
];

export default function Connections() {
  const filters = useFilters();
  const providers = useProviders();
  const titles = new Map(providers.data?.providers.map(({ id, title }) => [id, title]));
  const connections = useApi(
    "GET /api/v1/connections",
    {
      query: {
        ...askOf(filters),
        provider: filters.all("provider"),
        status: filters.all("status") as never[],
      },
    },
    { keep: true },
  );
  return (
    <ListPage
      title={t("Connections")}
      about={t("External systems that actions read from and write to. Credentials are write-only.")}
      create={t("New connection")}
      path="/connections"
      icon={Cable}
      filters={filters}
      choices={[
        {
          label: t("Provider"),
          name: "provider",
          options: (providers.data?.providers ?? []).map(({ id, title }) => [id, title] as const),
        },
        {
          label: t("Status"),
          name: "status",
          options: STATUSES,
        },
      ]}
      of={connections}
      rowsOf={(page) => page.connections}
      columns={columnsOf((id) => titles.get(id) ?? id)}
      noMatches={t("No connections match these filters")}
      none={t("No connections yet")}
      first={t("Create connection")}
      empty={t(
        "A connection stores the address and credentials of a database, object store, file server or HTTP API.",
      )}
    />
  );
}

import { Plus } from "lucide-react";
import { useSearchParams } from "wouter";
import { useApi, useInstallation, useMay, useMe } from "../data.ts";
import { switchTo } from "../linked.ts";
import { Button } from "../parts/base/button.tsx";
import { Mono } from "../parts/base/copy.tsx";
import { Facts, PageHead, Section, Shown } from "../parts/base/page.tsx";
import { plural } from "../parts/base/plural.ts";
import { roleName } from "../parts/base/role-name.ts";
import { Tag } from "../parts/base/status.tsx";
import { When } from "../parts/base/time.tsx";
import { Held } from "../parts/layout/detail.tsx";
import { OrganizationExport } from "../parts/organization/export.tsx";
import { NewOrganization, OrganizationSettings } from "../parts/organization/forms.tsx";
import { OrganizationRemoval } from "../parts/organization/removal.tsx";
import { t } from "../texts/text.ts";

export default function OrganizationPage() {
  const may = useMay("admin");
  const isOwner = useMay("owner");
  const mayMake = useInstallation()?.createsOrganizations === true;
  const [search, setSearch] = useSearchParams();
  const organization = useApi("GET /api/v1/organizations/current", {});
  return (
    <>
      <PageHead title={t("Organization")} about={t("Name, plan and limits.")}>
        {mayMake && (
          <Button icon={Plus} onClick={() => setSearch({ new: "yes" })}>
            {t("New organization")}
          </Button>
        )}
      </PageHead>
      <Shown of={organization}>
        {(data) => (
          <>
            {may && (
              <Held of={data}>
                {(base, onDirty) => <OrganizationSettings organization={base} onDirty={onDirty} />}
              </Held>
            )}
            <Section title={t("Details")}>
              <Facts
                of={[
                  ...(may
                    ? []
                    : ([
                        [t("Name"), data.name],
                        [t("Slug"), data.slug],
                        [t("Plan"), data.plan],
                      ] as const)),
                  ["ID", <Mono key="id" text={data.id} />],
                  [t("Created"), <When key="made" at={data.createdAt} />],
                ]}
              />
            </Section>
            <Kept />
            <Mine />
            {isOwner && <OrganizationExport slug={data.slug} />}
            {isOwner && <OrganizationRemoval organization={data} />}
          </>
        )}
      </Shown>
      {search.get("new") && <NewOrganization onClose={() => setSearch({})} />}
    </>
  );
}

/** Retention periods, which are settings of the installation. */
function Kept() {
  const meta = useApi("GET /api/v1/meta", {}, { isFixed: true });
  const { retentionDays, retentionFailedDays } = (meta.data?.limits ?? {}) as Record<string, number>;
  if (retentionDays === undefined) return null;
  return (
    <Section title={t("Data retention")} aside={t("Set by the server operator")}>
      <Facts
        of={[
          [t("Completed runs"), plural(retentionDays, { one: "# day", other: "# days" })],
          [t("Failed runs"), plural(retentionFailedDays ?? retentionDays, { one: "# day", other: "# days" })],
        ]}
      />
      <p className="mt-3 text-sm text-soft">
        {t("Applies to runs, logs and deliveries. Datasets and the audit log are kept.")}
      </p>
    </Section>
  );
}

/** The user's organizations. */
function Mine() {
  const { memberships } = useMe();
  return (
    <Section title={t("Your organizations")} flush>
      <ul>
        {memberships.map(({ membershipId, organization, role, isCurrent }) => (
          <li
            key={membershipId}
            className="flex items-center gap-3 border-t border-line px-4 py-2 text-sm first:border-t-0"
          >
            <span className="min-w-0 grow truncate font-medium" dir="auto">
              {organization.name}
            </span>
            <Tag>{roleName(role)}</Tag>
            {isCurrent ? (
              <span className="w-20 text-right text-xs text-soft">{t("Current")}</span>
            ) : (
              <Button onClick={() => switchTo(organization.id)}>{t("Switch")}</Button>
            )}
          </li>
        ))}
      </ul>
    </Section>
  );
}

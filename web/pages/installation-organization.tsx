import { useApi } from "../data.ts";
import { Mono } from "../parts/base/copy.tsx";
import { Facts, PageHead, Section, Shown } from "../parts/base/page.tsx";
import { dayOf, When } from "../parts/base/time.tsx";
import { InstallationLimits } from "../parts/installation/limits.tsx";
import { RestoreOrganization } from "../parts/installation/organizations.tsx";
import { Held } from "../parts/layout/detail.tsx";
import { OperatorsOnly } from "../parts/layout/operators-only.tsx";
import { t } from "../texts/text.ts";

export default function InstallationOrganizationPage({ id }: { id: string }) {
  return (
    <OperatorsOnly>
      <Organization id={id} />
    </OperatorsOnly>
  );
}

function Organization({ id }: { id: string }) {
  const organization = useApi("GET /api/v1/installation/organizations/{organization_id}", {
    path: { organization_id: id },
  });
  return (
    <Shown of={organization} isPage>
      {(data) => (
        <>
          <PageHead
            title={data.name}
            from={[["/installation", t("Installation")]]}
            about={<Mono text={data.slug} />}
          >
            {data.removedAt !== null && <RestoreOrganization organization={data} />}
          </PageHead>
          {data.restorableUntil !== null && (
            <p role="status" className="mb-4 rounded-md bg-warn-soft px-3 py-2 text-sm text-warn">
              {t("Removed. All of its data will be erased on {restorableUntil}.", {
                restorableUntil: dayOf(data.restorableUntil),
              })}
            </p>
          )}
          <Held of={data}>
            {(base, onDirty) => <InstallationLimits organization={base} onDirty={onDirty} />}
          </Held>
          <Section title={t("Details")}>
            <Facts
              of={[
                ["ID", <Mono key="id" text={data.id} />],
                [t("Created"), <When key="made" at={data.createdAt} />],
                [t("Updated"), <When key="changed" at={data.updatedAt} />],
              ]}
            />
          </Section>
        </>
      )}
    </Shown>
  );
}

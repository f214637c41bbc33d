import { PageHead, useTab } from "../parts/base/page.tsx";
import { InstallationHealth } from "../parts/installation/health.tsx";
import { InstallationOrganizations } from "../parts/installation/organizations.tsx";
import { InstallationUsers } from "../parts/installation/users.tsx";
import { OperatorsOnly } from "../parts/layout/operators-only.tsx";
import { t } from "../texts/text.ts";

export default function Installation() {
  return (
    <OperatorsOnly>
      <Operator />
    </OperatorsOnly>
  );
}

function Operator() {
  const tabs = useTab([
    ["organizations", t("Organizations")],
    ["users", t("Users")],
    ["health", t("Health")],
  ]);
  const shown = {
    organizations: <InstallationOrganizations />,
    users: <InstallationUsers />,
    health: <InstallationHealth />,
  };
  return (
    <>
      <PageHead
        title={t("Installation")}
        about={t(
          "All organizations and users of this installation. Operators can't see an organization's data.",
        )}
      />
      {tabs.bar}
      {shown[tabs.current ?? "organizations"]}
    </>
  );
}

import { useMay } from "../data.ts";
import { AccessTokens } from "../parts/account/access-tokens.tsx";
import { ApiKeys } from "../parts/account/api-keys.tsx";
import { OwnData } from "../parts/account/data.tsx";
import { OwnInvitations } from "../parts/account/invitations.tsx";
import { OwnNotices } from "../parts/account/notices.tsx";
import { OrganizationTokens } from "../parts/account/organization-tokens.tsx";
import { OwnPassword } from "../parts/account/password.tsx";
import { OwnProfile } from "../parts/account/profile.tsx";
import { SecondFactor } from "../parts/account/second-factor.tsx";
import { Sessions } from "../parts/account/sessions.tsx";
import { PageHead, useTab } from "../parts/base/page.tsx";
import { t } from "../texts/text.ts";

export default function Access() {
  const may = useMay("admin");
  const tabs = useTab([
    ["tokens", t("Access tokens")],
    ["keys", t("API keys")],
    ["sessions", t("Sessions")],
    ["profile", t("Profile")],
    ["sign-in", t("Password")],
    ["notices", t("Notices")],
    ["invitations", t("Invitations")],
    ["data", t("Your data")],
    ...(may ? ([["everybody", t("All tokens")]] as const) : []),
  ]);
  const shown: Readonly<Record<string, React.ReactNode>> = {
    keys: <ApiKeys />,
    sessions: <Sessions />,
    profile: <OwnProfile />,
    "sign-in": (
      <>
        <OwnPassword />
        <SecondFactor />
      </>
    ),
    notices: <OwnNotices />,
    invitations: <OwnInvitations />,
    data: <OwnData />,
    everybody: <OrganizationTokens />,
  };
  return (
    <>
      <PageHead title={t("Access")} about={t("Your tokens, sessions, profile and sign-in settings.")} />
      {tabs.bar}
      {shown[tabs.current ?? ""] ?? <AccessTokens />}
    </>
  );
}

import { useMay } from "../data.ts";
import { AccessTokens } from "../parts/access-tokens.tsx";
import { ApiKeys } from "../parts/api-keys.tsx";
import { PageHead, useTab } from "../parts/base/page.tsx";
import { OrganizationTokens } from "../parts/organization-tokens.tsx";
import { OwnData } from "../parts/own-data.tsx";
import { OwnInvitations } from "../parts/own-invitations.tsx";
import { OwnPassword } from "../parts/own-password.tsx";
import { SecondFactor } from "../parts/second-factor.tsx";
import { Sessions } from "../parts/sessions.tsx";

export default function Access() {
  const may = useMay("admin");
  const tabs = useTab([
    ["tokens", "Access tokens"],
    ["keys", "API keys"],
    ["sessions", "Sessions"],
    ["sign-in", "Password"],
    ["invitations", "Invitations"],
    ["data", "Your data"],
    ...(may ? ([["everybody", "Everybody's tokens"]] as const) : []),
  ]);
  const shown: Readonly<Record<string, React.ReactNode>> = {
    keys: <ApiKeys />,
    sessions: <Sessions />,
    "sign-in": (
      <>
        <OwnPassword />
        <SecondFactor />
      </>
    ),
    invitations: <OwnInvitations />,
    data: <OwnData />,
    everybody: <OrganizationTokens />,
  };
  return (
    <>
      <PageHead title="Access" about="How you, other people and programs come in." />
      {tabs.bar}
      {shown[tabs.current ?? ""] ?? <AccessTokens />}
    </>
  );
}

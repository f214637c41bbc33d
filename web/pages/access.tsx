import { AccessTokens } from "../parts/access-tokens.tsx";
import { ApiKeys } from "../parts/api-keys.tsx";
import { PageHead, useTab } from "../parts/page.tsx";
import { Sessions } from "../parts/sessions.tsx";

export default function Access() {
  const tabs = useTab([
    ["tokens", "Access tokens"],
    ["keys", "API keys"],
    ["sessions", "Sessions"],
  ]);
  return (
    <>
      <PageHead title="Access" about="How programs and people come in here." />
      {tabs.bar}
      {tabs.current === "keys" ? <ApiKeys /> : tabs.current === "sessions" ? <Sessions /> : <AccessTokens />}
    </>
  );
}

import { Link2 } from "lucide-react";
import { useSearchParams } from "wouter";
import { useApi, useChange, useMe } from "../data.ts";
import { Button } from "../parts/base/button.tsx";
import { Empty, PageHead, Section, Shown } from "../parts/base/page.tsx";
import { When } from "../parts/base/time.tsx";
import { Refusal } from "../parts/form/frame.tsx";
import { rich } from "../texts/rich.ts";
import { t } from "../texts/text.ts";

/** Page of a link from Slack: shows which Slack user is about to be linked to the account. */
export default function LinkPage() {
  const [search] = useSearchParams();
  const token = search.get("token") ?? "";
  const link = useApi(
    "GET /api/v1/chat-links",
    { query: { token } },
    { isFixed: true, enabled: token !== "" },
  );
  const agree = useChange("GET /api/inbound/link-callback", { touches: [], tellsErrors: false });
  const me = useMe();
  if (agree.isSuccess) {
    return (
      <div className="card">
        <Empty icon={Link2} title={t("Slack account linked")}>
          {t("You can close this page and use the command in Slack.")}
        </Empty>
      </div>
    );
  }
  const head = <PageHead title="Slack" about={t("A linked Slack account acts with your permissions.")} />;
  if (token === "") {
    return (
      <>
        {head}
        <div className="card">
          <Empty icon={Link2} title={t("No account to link")}>
            {t("Run the command in Slack, then open the link in its answer.")}
          </Empty>
        </div>
      </>
    );
  }
  return (
    <>
      {head}
      <Shown of={link}>
        {({ userName, teamName, expiresAt }) => (
          <Section title={t("Link Slack account")}>
            <Refusal error={agree.error} />
            <p className="mb-2">
              {rich("{userName} in the Slack team {teamName} would run, ask and decide here as {email}.", {
                userName: <strong>{userName}</strong>,
                teamName: <strong>{teamName}</strong>,
                email: <strong>{me.user?.email}</strong>,
              })}
            </p>
            <p className="mb-4 text-sm text-soft">
              {rich("Continue only if you requested this link in Slack. It expires {when}.", {
                when: <When at={expiresAt} />,
              })}
            </p>
            <Button kind="main" busy={agree.isPending} onClick={() => agree.mutate({ query: { token } })}>
              {t("Link account")}
            </Button>
          </Section>
        )}
      </Shown>
    </>
  );
}

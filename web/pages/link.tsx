import { Link2 } from "lucide-react";
import { useSearchParams } from "wouter";
import { useApi, useChange, useMe } from "../data.ts";
import { Button } from "../parts/base/button.tsx";
import { Empty, PageHead, Section, Shown } from "../parts/base/page.tsx";
import { When } from "../parts/base/time.tsx";
import { Refusal } from "../parts/form/frame.tsx";

/** What a link of Slack's opens: whom it speaks of, before one lets them act as oneself. */
export default function LinkPage() {
  const [search] = useSearchParams();
  const token = search.get("token") ?? "";
  const link = useApi("GET /api/v1/chat-links", { query: { token } }, { isFixed: true });
  const agree = useChange("GET /api/inbound/link-callback", { touches: [], tellsErrors: false });
  const me = useMe();
  if (agree.isSuccess) {
    return (
      <div className="card">
        <Empty icon={Link2} title="Slack account linked">
          You can close this page and use the command in Slack.
        </Empty>
      </div>
    );
  }
  return (
    <>
      <PageHead title="Slack" about="A linked Slack account acts with your permissions." />
      <Shown of={link}>
        {({ userName, teamName, expiresAt }) => (
          <Section title="Link Slack account">
            <Refusal error={agree.error} />
            <p className="mb-2">
              <strong>{userName}</strong> in the Slack team <strong>{teamName}</strong> would run, ask and
              decide here as <strong>{me.user?.email}</strong>.
            </p>
            <p className="mb-4 text-sm text-soft">
              Continue only if you requested this link in Slack. It expires <When at={expiresAt} />.
            </p>
            <Button kind="main" busy={agree.isPending} onClick={() => agree.mutate({ query: { token } })}>
              Link account
            </Button>
          </Section>
        )}
      </Shown>
    </>
  );
}

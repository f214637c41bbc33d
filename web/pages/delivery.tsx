import { ListChecks } from "lucide-react";
import { Link } from "wouter";
import type { Reply } from "../calls.ts";
import { useApi } from "../data.ts";
import { LinkButton } from "../parts/base/button.tsx";
import { Mono } from "../parts/base/copy.tsx";
import { ErrorText } from "../parts/base/error-text.tsx";
import { Facts, PageHead, Section, Shown } from "../parts/base/page.tsx";
import { Status } from "../parts/base/status.tsx";
import { exactly, inWords, When } from "../parts/base/time.tsx";
import { Tree } from "../parts/base/tree.tsx";
import { useSubscriptions } from "../parts/webhooks/subscriptions.ts";
import { rich } from "../texts/rich.ts";
import { t } from "../texts/text.ts";

type Whole = Reply<"GET /api/v1/webhook-deliveries/{delivery_id}">;

export default function DeliveryPage({ id }: { id: string }) {
  const delivery = useApi("GET /api/v1/webhook-deliveries/{delivery_id}", { path: { delivery_id: id } });
  return (
    <Shown of={delivery} isPage>
      {(data) => <Page delivery={data} />}
    </Shown>
  );
}

function Page({ delivery }: { delivery: Whole }) {
  const { id, automationId, automationRunId, status, error, headers, query, payload, attempts } = delivery;
  const subscriptions = useSubscriptions();
  return (
    <>
      <PageHead
        title={subscriptions.get(automationId) ?? t("Webhook delivery")}
        from={[["/deliveries", t("Incoming webhooks")]]}
        beside={<Status status={status} />}
      >
        {status === "dead_letter" && (
          <LinkButton href={`/dead-letters?automation=${automationId}`}>{t("View dead letters")}</LinkButton>
        )}
        {automationRunId && (
          <LinkButton href={`/automation-runs/${automationRunId}`} kind="main" icon={ListChecks}>
            {t("Open run")}
          </LinkButton>
        )}
      </PageHead>
      {error !== null && (
        <p role="alert" className="mb-5 rounded-lg border border-bad/30 bg-bad-soft px-4 py-3 text-sm">
          <ErrorText of={error} />
        </p>
      )}
      <div className="grid items-start gap-x-5 lg:grid-cols-2">
        <Section title={t("Details")}>
          <Facts
            of={[
              [t("Delivery"), <Mono key="id" text={id} />],
              [
                t("Automation"),
                <Link
                  key="automation"
                  href={`/automations/${automationId}`}
                  className="text-accent hover:underline"
                >
                  {subscriptions.get(automationId) ?? automationId}
                </Link>,
              ],
              [t("Received"), exactly(delivery.receivedAt)],
              [t("Response"), delivery.replyCode === null ? t("None yet") : String(delivery.replyCode)],
              ...(delivery.nextAttemptAt
                ? [[t("Next attempt"), <When key="next" at={delivery.nextAttemptAt} />] as const]
                : []),
            ]}
          />
        </Section>
        <Section title={t("Attempts")}>
          <ol className="space-y-2 text-sm">
            {attempts.map(({ number, startedAt, completedAt, replyCode, error: why }) => (
              <li key={number}>
                <p className="flex flex-wrap items-baseline gap-x-3">
                  <span className="font-medium">{t("Attempt {number}", { number })}</span>
                  <span className={replyCode !== null && replyCode >= 300 ? "text-bad" : "text-good"}>
                    {replyCode ?? (completedAt === null ? t("In progress") : "–")}
                  </span>
                  <span className="text-xs text-soft">
                    {exactly(startedAt)}
                    {completedAt && `, ${inWords((Date.parse(completedAt) - Date.parse(startedAt)) / 1000)}`}
                  </span>
                </p>
                {why !== null && <ErrorText of={why} />}
              </li>
            ))}
          </ol>
        </Section>
      </div>
      {headers === null && query === null && payload === null ? (
        <Section title={t("Request")}>
          <p className="text-sm text-soft">
            {rich(
              "Payloads are deleted after processing. To keep them, turn on {code} in the automation's configuration.",
              { code: <code className="font-mono text-xs">debug</code> },
            )}
          </p>
        </Section>
      ) : (
        <>
          <Section title={t("Payload")}>
            <Tree value={payload} copyLabel={t("Copy payload as JSON")} />
          </Section>
          <div className="grid items-start gap-x-5 lg:grid-cols-2">
            <Section title={t("Headers")}>
              <Tree value={headers} copyLabel={t("Copy headers as JSON")} />
            </Section>
            <Section title={t("Query")}>
              <Tree value={query} copyLabel={t("Copy query as JSON")} />
            </Section>
          </div>
        </>
      )}
    </>
  );
}

import { Link } from "wouter";
import type { AutomationRun } from "../../calls.ts";
import { useApi } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Section, Shown } from "../base/page.tsx";
import { When } from "../base/time.tsx";
import { Tree } from "../base/tree.tsx";

/** The event is recorded with the run, slightly before or after. */
const SLACK_MS = 5000;

const around = (at: string, ms: number) => new Date(Date.parse(at) + ms).toISOString();

/** The webhook that started a run, if the audit log has it. Null for other runs. */
export function useDelivery(run: AutomationRun) {
  const isWebhook = run.triggerMethod === "webhook";
  const events = useApi(
    "GET /api/v1/events",
    {
      query: {
        type: "automation.triggered",
        entityId: run.automationId,
        since: around(run.createdAt, -SLACK_MS),
        until: around(run.createdAt, SLACK_MS),
        limit: 200,
      },
    },
    { enabled: isWebhook, isFixed: true },
  );
  const id = events.data?.items.find(({ data }) => data.runId === run.id)?.data.deliveryId;
  const delivery = useApi(
    "GET /api/v1/webhook-deliveries/{delivery_id}",
    { path: { delivery_id: String(id) } },
    { enabled: typeof id === "string" },
  );
  const isPending = isWebhook && (events.isPending || (id !== undefined && delivery.isPending));
  return { delivery: delivery.data ?? null, isPending };
}

/** Input of a run: its input, or the webhook that started it. A retry has that of the retried run. */
export function Origin({ run }: { run: AutomationRun }) {
  const { delivery } = useDelivery(run);
  if (run.input === null && run.parentAutomationRunId)
    return <OriginOfParent id={run.parentAutomationRunId} />;
  if (!delivery)
    return (
      <Section title={t("Input")}>
        <Tree value={run.input} copyLabel={t("Copy input as JSON")} />
      </Section>
    );
  return (
    <Section
      title={t("Webhook")}
      aside={
        <>
          {delivery.nextAttemptAt && (
            <span>
              {t("Next attempt")} <When at={delivery.nextAttemptAt} />
            </span>
          )}
          <Link href={`/deliveries/${delivery.id}`} className="text-accent hover:underline">
            {t("Open delivery")}
          </Link>
        </>
      }
    >
      {delivery.headers === null && delivery.payload === null ? (
        <p className="text-sm text-soft">{t("Payloads are deleted after processing.")}</p>
      ) : (
        <Tree value={delivery.payload} copyLabel={t("Copy payload as JSON")} />
      )}
    </Section>
  );
}

function OriginOfParent({ id }: { id: string }) {
  const parent = useApi("GET /api/v1/automation-runs/{run_id}", { path: { run_id: id } }, { isFixed: true });
  return <Shown of={parent}>{(run) => <Origin run={run} />}</Shown>;
}

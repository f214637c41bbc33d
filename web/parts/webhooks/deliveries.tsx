import { RotateCcw, Send } from "lucide-react";
import { Link, useSearchParams } from "wouter";
import type { OUTBOUND_STATUSES } from "../../../src/resources/webhooks/table.ts";
import type { OutboundDelivery, Webhook } from "../../calls.ts";
import { useApi, useChange } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { Mono } from "../base/copy.tsx";
import { Dialog } from "../base/dialog.tsx";
import { ErrorText, errorLine } from "../base/error-text.tsx";
import { Empty, Facts, Shown } from "../base/page.tsx";
import { Status, styleOf, Tag } from "../base/status.tsx";
import { exactly, inWords, When } from "../base/time.tsx";
import { Tree } from "../base/tree.tsx";
import { Choice, FilterBar } from "../table/filters.tsx";
import { Older, useOlder } from "../table/older.tsx";
import { type Column, Named, Table, useFilters } from "../table/table.tsx";

/** No event reports the end of a delivery. */
const REFETCH_MS = 4000;

const STATUSES: typeof OUTBOUND_STATUSES = ["pending", "retrying", "delivered", "failed", "dead_letter"];

const took = (ms: number | null) => (ms === null ? "–" : inWords(ms / 1000));

const COLUMNS: readonly Column<OutboundDelivery>[] = [
  {
    name: t("Event"),
    isWide: true,
    cell: ({ eventType, error, isTest, replayOf }) => (
      <Named
        name={eventType}
        below={errorLine(error) ?? (isTest ? t("Test") : replayOf ? t("Resent") : null)}
      />
    ),
  },
  { name: t("Status"), cell: ({ status }) => <Status status={status} /> },
  { name: t("Response"), isMinor: true, isRight: true, cell: ({ replyCode }) => replyCode ?? "–" },
  { name: t("Attempts"), isMinor: true, isRight: true, cell: ({ attempts }) => attempts },
  { name: t("Duration"), isMinor: true, isRight: true, cell: ({ durationMs }) => took(durationMs) },
  { name: t("Created"), isRight: true, isMinor: true, cell: ({ createdAt }) => <When at={createdAt} /> },
];

/** Deliveries of a webhook, sent and pending. `?delivery=` opens one. */
export function OutboundDeliveries({ webhook }: { webhook: Webhook }) {
  const filters = useFilters();
  const [, setSearch] = useSearchParams();
  const opened = filters.get("delivery");
  const status = filters.get("status");
  const deliveries = useOlder(
    "GET /api/v1/webhooks/{webhook_id}/deliveries",
    { path: { webhook_id: webhook.id }, query: (status ? { status } : {}) as { status?: "pending" } },
    { refetchMs: REFETCH_MS },
  );
  return (
    <div className="card">
      <FilterBar onClear={status !== "" && (() => filters.set("status", ""))}>
        <Choice
          label={t("Status")}
          value={status}
          options={STATUSES.map((id) => [id, styleOf(id).label] as const)}
          onChange={(value) => filters.set("status", value)}
        />
      </FilterBar>
      <Older of={deliveries}>
        {(items) =>
          items.length > 0 ? (
            <Table
              label={t("Deliveries")}
              columns={COLUMNS}
              rows={items}
              keyOf={({ id }) => id}
              hrefOf={({ id }) => `/webhooks/${webhook.id}?delivery=${id}`}
            />
          ) : (
            <Empty icon={Send} title={status ? t("No deliveries have this status") : t("No deliveries yet")}>
              {status ? null : t("New events are sent as they happen. Send a test to check the receiver.")}
            </Empty>
          )
        }
      </Older>
      {opened && <Whole webhookId={webhook.id} id={opened} onClose={() => setSearch({})} />}
    </div>
  );
}

function Whole({ webhookId, id, onClose }: { webhookId: string; id: string; onClose: () => void }) {
  const [, setSearch] = useSearchParams();
  const path = { webhook_id: webhookId, delivery_id: id };
  const delivery = useApi(
    "GET /api/v1/webhooks/{webhook_id}/deliveries/{delivery_id}",
    { path },
    { refetchMs: REFETCH_MS },
  );
  const again = useChange("POST /api/v1/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver", {
    touches: ["/webhooks", "/dead-letters"],
    done: t("Resending with the same ID"),
    onDone: (made) => setSearch({ delivery: made.id }),
  });
  return (
    <Dialog
      title={delivery.data?.eventType ?? t("Delivery")}
      onClose={onClose}
      isWide
      foot={
        <Button
          icon={RotateCcw}
          busy={again.isPending}
          disabled={!delivery.data}
          onClick={() => again.mutate({ path })}
        >
          {t("Resend")}
        </Button>
      }
    >
      <Shown of={delivery}>
        {(data) => (
          <>
            <Facts
              of={[
                [
                  t("Status"),
                  <span key="status" className="flex flex-wrap items-center gap-2">
                    <Status status={data.status} />
                    {data.isTest && <Tag>{t("Test")}</Tag>}
                  </span>,
                ],
                [t("Created"), exactly(data.createdAt)],
                ...(data.completedAt ? [[t("Completed"), exactly(data.completedAt)] as const] : []),
                ...(data.nextAttemptAt
                  ? [[t("Next attempt"), <When key="n" at={data.nextAttemptAt} />] as const]
                  : []),
                [t("Event ID"), <Mono key="event" text={data.eventId} />],
                ...(data.replayOf
                  ? [
                      [
                        t("Resend of"),
                        <Link
                          key="of"
                          href={`/webhooks/${webhookId}?delivery=${data.replayOf}`}
                          className="text-accent hover:underline"
                        >
                          {t("Original delivery")}
                        </Link>,
                      ] as const,
                    ]
                  : []),
              ]}
            />
            <h3 className="mt-5 mb-2 font-semibold">{t("Attempts")}</h3>
            {data.attempts.length === 0 ? (
              <p className="text-soft">{t("No attempts yet")}</p>
            ) : (
              <ol className="space-y-2">
                {data.attempts.map(({ number, startedAt, durationMs, replyCode, replyExcerpt, error }) => (
                  <li key={number} className="rounded-md border border-line px-3 py-2">
                    <p className="flex flex-wrap items-baseline gap-x-3">
                      <span className="font-medium">{t("Attempt {number}", { number })}</span>
                      <span className={replyCode !== null && replyCode < 300 ? "text-good" : "text-bad"}>
                        {replyCode ?? t("No response")}
                      </span>
                      <span className="text-xs text-soft">
                        {exactly(startedAt)}, {took(durationMs)}
                      </span>
                    </p>
                    {error !== null && (
                      <p className="mt-1">
                        <ErrorText of={error} />
                      </p>
                    )}
                    {replyExcerpt && (
                      <pre
                        dir="auto"
                        className="mt-1 max-h-40 overflow-y-auto font-mono text-xs whitespace-pre-wrap text-soft [overflow-wrap:anywhere]"
                      >
                        {replyExcerpt}
                      </pre>
                    )}
                  </li>
                ))}
              </ol>
            )}
            <h3 className="mt-5 mb-2 font-semibold">{t("Payload")}</h3>
            <Tree value={data.payload} copyLabel={t("Copy event as JSON")} />
          </>
        )}
      </Shown>
    </Dialog>
  );
}

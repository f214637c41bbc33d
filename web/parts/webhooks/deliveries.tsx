import { RotateCcw, Send } from "lucide-react";
import { Link, useSearchParams } from "wouter";
import type { OUTBOUND_STATUSES } from "../../../src/resources/webhooks/table.ts";
import type { OutboundDelivery, Webhook } from "../../calls.ts";
import { useApi, useChange } from "../../data.ts";
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

/** A delivery ends without an event that tells of it. */
const REFETCH_MS = 4000;

const STATUSES: typeof OUTBOUND_STATUSES = ["pending", "retrying", "delivered", "failed", "dead_letter"];

const took = (ms: number | null) => (ms === null ? "–" : inWords(ms / 1000));

const COLUMNS: readonly Column<OutboundDelivery>[] = [
  {
    name: "Event",
    isWide: true,
    cell: ({ eventType, error, isTest, replayOf }) => (
      <Named
        name={eventType}
        below={errorLine(error) ?? (isTest ? "a test" : replayOf ? "sent once more" : null)}
      />
    ),
  },
  { name: "Status", cell: ({ status }) => <Status status={status} /> },
  { name: "Reply", isMinor: true, isRight: true, cell: ({ replyCode }) => replyCode ?? "–" },
  { name: "Tries", isMinor: true, isRight: true, cell: ({ attempts }) => attempts },
  { name: "Took", isMinor: true, isRight: true, cell: ({ durationMs }) => took(durationMs) },
  { name: "Created", isRight: true, isMinor: true, cell: ({ createdAt }) => <When at={createdAt} /> },
];

/** What was sent to a webhook and what waits; `?delivery=` opens one. */
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
          label="Status"
          value={status}
          options={STATUSES.map((id) => [id, styleOf(id).label] as const)}
          onChange={(value) => filters.set("status", value)}
        />
      </FilterBar>
      <Older of={deliveries}>
        {(items) =>
          items.length > 0 ? (
            <Table
              label="Deliveries"
              columns={COLUMNS}
              rows={items}
              keyOf={({ id }) => id}
              hrefOf={({ id }) => `/webhooks/${webhook.id}?delivery=${id}`}
            />
          ) : (
            <Empty icon={Send} title={status ? "No delivery has this status" : "Nothing was sent yet"}>
              {status ? null : "What happens from now on is sent at once. A test shows whether it arrives."}
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
    done: "It is sent once more, under the same id",
    onDone: (made) => setSearch({ delivery: made.id }),
  });
  return (
    <Dialog
      title={delivery.data?.eventType ?? "Delivery"}
      onClose={onClose}
      isWide
      foot={
        <Button
          icon={RotateCcw}
          busy={again.isPending}
          disabled={!delivery.data}
          onClick={() => again.mutate({ path })}
        >
          Deliver again
        </Button>
      }
    >
      <Shown of={delivery}>
        {(data) => (
          <>
            <Facts
              of={[
                [
                  "Status",
                  <span key="status" className="flex flex-wrap items-center gap-2">
                    <Status status={data.status} />
                    {data.isTest && <Tag>test</Tag>}
                  </span>,
                ],
                ["Created", exactly(data.createdAt)],
                ...(data.completedAt ? [["Ended", exactly(data.completedAt)] as const] : []),
                ...(data.nextAttemptAt
                  ? [["Next try", <When key="n" at={data.nextAttemptAt} />] as const]
                  : []),
                ["Id of the event", <Mono key="event" text={data.eventId} />],
                ...(data.replayOf
                  ? [
                      [
                        "Repeats",
                        <Link
                          key="of"
                          href={`/webhooks/${webhookId}?delivery=${data.replayOf}`}
                          className="text-accent hover:underline"
                        >
                          the first delivery
                        </Link>,
                      ] as const,
                    ]
                  : []),
              ]}
            />
            <h3 className="mt-5 mb-2 font-semibold">Tries</h3>
            {data.attempts.length === 0 ? (
              <p className="text-soft">None yet.</p>
            ) : (
              <ol className="space-y-2">
                {data.attempts.map(({ number, startedAt, durationMs, replyCode, replyExcerpt, error }) => (
                  <li key={number} className="rounded-md border border-line px-3 py-2">
                    <p className="flex flex-wrap items-baseline gap-x-3">
                      <span className="font-medium">Try {number}</span>
                      <span className={replyCode !== null && replyCode < 300 ? "text-good" : "text-bad"}>
                        {replyCode ?? "no reply"}
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
            <h3 className="mt-5 mb-2 font-semibold">What is sent</h3>
            <Tree value={data.payload} label="the event" />
          </>
        )}
      </Shown>
    </Dialog>
  );
}

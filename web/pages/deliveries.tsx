import { Inbox } from "lucide-react";
import type { DELIVERY_STATUSES } from "../../src/resources/inbound/table.ts";
import type { InboundDelivery } from "../calls.ts";
import { LinkButton } from "../parts/base/button.tsx";
import { errorLine } from "../parts/base/error-text.tsx";
import { Empty, PageHead } from "../parts/base/page.tsx";
import { Status, styleOf } from "../parts/base/status.tsx";
import { When } from "../parts/base/time.tsx";
import { Siblings, WEBHOOK_PAGES } from "../parts/layout/siblings.tsx";
import { Choice, FilterBar } from "../parts/table/filters.tsx";
import { NoMatches } from "../parts/table/no-matches.tsx";
import { Older, useOlder } from "../parts/table/older.tsx";
import { type Column, Named, Table, useFilters } from "../parts/table/table.tsx";
import { useSubscriptions } from "../parts/webhooks/subscriptions.ts";
import { t } from "../texts/text.ts";

const STATUSES: typeof DELIVERY_STATUSES = ["processing", "processed", "retrying", "failed", "dead_letter"];

export default function Deliveries() {
  const filters = useFilters();
  const subscriptions = useSubscriptions();
  const status = filters.get("status");
  const automation = filters.get("automation");
  const query = { ...(status ? { status } : {}), ...(automation ? { automation_id: automation } : {}) };
  const deliveries = useOlder("GET /api/v1/webhook-deliveries", { query: query as never });
  const columns: readonly Column<InboundDelivery>[] = [
    {
      name: t("Automation"),
      isWide: true,
      cell: ({ automationId, error, id }) => (
        <Named
          name={subscriptions.get(automationId) ?? t("Automation")}
          below={errorLine(error) ?? id.slice(-12)}
        />
      ),
    },
    { name: t("Status"), cell: (row) => <Status status={row.status} /> },
    { name: t("Response"), isMinor: true, isRight: true, cell: ({ replyCode }) => replyCode ?? "–" },
    { name: t("Attempts"), isMinor: true, isRight: true, cell: ({ attempts }) => attempts },
    { name: t("Received"), isRight: true, isMinor: true, cell: ({ receivedAt }) => <When at={receivedAt} /> },
  ];
  return (
    <>
      <PageHead
        title={t("Incoming webhooks")}
        about={t("Requests received by webhook automations, and their results.")}
      />
      <Siblings of={WEBHOOK_PAGES} label={t("Webhooks")} />
      <div className="card">
        <FilterBar onClear={filters.isAny && filters.clear}>
          <Choice
            label={t("Status")}
            value={status}
            options={STATUSES.map((id) => [id, styleOf(id).label] as const)}
            onChange={(value) => filters.set("status", value)}
          />
          <Choice
            label={t("Automation")}
            value={automation}
            options={[...subscriptions]}
            onChange={(value) => filters.set("automation", value)}
          />
        </FilterBar>
        <Older of={deliveries} rows={8}>
          {(items) =>
            items.length > 0 ? (
              <Table
                label={t("Deliveries")}
                columns={columns}
                rows={items}
                keyOf={({ id }) => id}
                hrefOf={({ id }) => `/deliveries/${id}`}
              />
            ) : filters.isAny ? (
              <NoMatches title={t("No deliveries match these filters")} onClear={filters.clear} />
            ) : (
              <Empty
                icon={Inbox}
                title={t("No deliveries yet")}
                action={
                  <LinkButton
                    href={subscriptions.size > 0 ? "/automations?trigger=webhook" : "/automations/new"}
                    kind="main"
                  >
                    {subscriptions.size > 0 ? t("View webhook automations") : t("Create automation")}
                  </LinkButton>
                }
              >
                {t(
                  "Each automation with a webhook trigger has a URL. You can copy it, and send a test, on the automation's page.",
                )}
              </Empty>
            )
          }
        </Older>
      </div>
    </>
  );
}

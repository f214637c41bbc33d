import { Plus, Webhook as WebhookIcon } from "lucide-react";
import type { Webhook } from "../calls.ts";
import { useMay } from "../data.ts";
import { LinkButton } from "../parts/base/button.tsx";
import { Empty, PageHead } from "../parts/base/page.tsx";
import { AdminsOnly } from "../parts/base/role.tsx";
import { Status } from "../parts/base/status.tsx";
import { When } from "../parts/base/time.tsx";
import { Siblings, WEBHOOK_PAGES } from "../parts/layout/siblings.tsx";
import { Older, useOlder } from "../parts/table/older.tsx";
import { type Column, Named, Table } from "../parts/table/table.tsx";
import { t } from "../texts/text.ts";

/** The first pattern, and the number of others. */
function eventsLine(events: readonly string[]): string {
  if (events.includes("*")) return t("everything");
  const [first = "", ...more] = events;
  return more.length === 0 ? first : `${first} +${more.length}`;
}

const COLUMNS: readonly Column<Webhook>[] = [
  {
    name: "URL",
    isWide: true,
    cell: ({ url, events, disabledReason }) => (
      <Named name={url} below={disabledReason ?? eventsLine(events)} />
    ),
  },
  { name: t("Status"), cell: ({ status }) => <Status status={status} /> },
  { name: t("Created"), isRight: true, isMinor: true, cell: ({ createdAt }) => <When at={createdAt} /> },
];

export default function Webhooks() {
  const may = useMay("admin");
  const webhooks = useOlder("GET /api/v1/webhooks", {}, { enabled: may });
  return (
    <>
      <PageHead
        title={t("Webhooks")}
        about={t("Send events to your own endpoints: signed, in order, with retries.")}
      >
        {may && (
          <LinkButton href="/webhooks/new" kind="main" icon={Plus}>
            {t("New webhook")}
          </LinkButton>
        )}
      </PageHead>
      <Siblings of={WEBHOOK_PAGES} label={t("Webhooks")} />
      <div className="card">
        {may ? (
          <Older of={webhooks}>
            {(items) =>
              items.length > 0 ? (
                <Table
                  label={t("Webhooks")}
                  columns={COLUMNS}
                  rows={items}
                  keyOf={({ id }) => id}
                  hrefOf={({ id }) => `/webhooks/${id}`}
                />
              ) : (
                <Empty
                  icon={WebhookIcon}
                  title={t("No webhooks yet")}
                  action={
                    <LinkButton href="/webhooks/new" kind="main">
                      {t("Create webhook")}
                    </LinkButton>
                  }
                >
                  {t(
                    "A webhook sends selected events to your URL, for example failed runs to a chat channel.",
                  )}
                </Empty>
              )
            }
          </Older>
        ) : (
          <AdminsOnly title={t("Only admins can see webhooks")} />
        )}
      </div>
    </>
  );
}

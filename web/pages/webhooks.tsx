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

/** The first of the patterns, and how many more there are. */
function eventsLine(events: readonly string[]): string {
  if (events.includes("*")) return "everything";
  const [first = "", ...more] = events;
  return more.length === 0 ? first : `${first} and ${more.length} more`;
}

const COLUMNS: readonly Column<Webhook>[] = [
  {
    name: "Address",
    isWide: true,
    cell: ({ url, events, disabledReason }) => (
      <Named name={url} below={disabledReason ?? eventsLine(events)} />
    ),
  },
  { name: "Status", cell: ({ status }) => <Status status={status} /> },
  { name: "Created", isRight: true, isMinor: true, cell: ({ createdAt }) => <When at={createdAt} /> },
];

export default function Webhooks() {
  const may = useMay("admin");
  const webhooks = useOlder("GET /api/v1/webhooks", {}, { enabled: may });
  return (
    <>
      <PageHead
        title="Webhooks"
        about="Other systems are told of events here: signed, in order of their time, and tried again."
      >
        {may && (
          <LinkButton href="/webhooks/new" kind="main" icon={Plus}>
            New webhook
          </LinkButton>
        )}
      </PageHead>
      <Siblings of={WEBHOOK_PAGES} label="Webhooks" />
      <div className="card">
        {may ? (
          <Older of={webhooks}>
            {(items) =>
              items.length > 0 ? (
                <Table
                  label="Webhooks"
                  columns={COLUMNS}
                  rows={items}
                  keyOf={({ id }) => id}
                  hrefOf={({ id }) => `/webhooks/${id}`}
                />
              ) : (
                <Empty
                  icon={WebhookIcon}
                  title="No webhooks yet"
                  action={
                    <LinkButton href="/webhooks/new" kind="main">
                      Tell another system
                    </LinkButton>
                  }
                >
                  A webhook sends each event that it is for to an address of yours, such as failed runs to a
                  chat.
                </Empty>
              )
            }
          </Older>
        ) : (
          <AdminsOnly what="webhooks" />
        )}
      </div>
    </>
  );
}

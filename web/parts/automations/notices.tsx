import { BellOff } from "lucide-react";
import type { Automation, Reply } from "../../calls.ts";
import { useApi } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { named } from "../base/named.ts";
import { Empty, Section, Shown } from "../base/page.tsx";
import { Tag } from "../base/status.tsx";
import { When } from "../base/time.tsx";
import { type Column, Named, Table } from "../table/table.tsx";

type Notice = Reply<"GET /api/v1/notices">["items"][number];

const KINDS = named<Notice["kind"]>({
  "automation.failed": t("Failed"),
  "automation.recovered": t("Recovered"),
  "automation.late": t("Late"),
  "automation.stale": t("Stale"),
  "webhook.failing": t("Webhook failing"),
  "approval.open": t("Approval requested"),
  dashboard: t("Dashboard"),
});
const STATES = named<Notice["status"]>({ pending: t("Pending"), sent: t("Sent"), unsent: t("Not sent") });

const nameIn = <V extends string>(names: readonly (readonly [V, string])[], value: V) =>
  names.find(([id]) => id === value)?.[1] ?? value;

const COLUMNS: readonly Column<Notice>[] = [
  {
    name: t("Recipient"),
    isWide: true,
    cell: ({ target, error }) => <Named name={target} below={error} />,
  },
  {
    name: t("Type"),
    cell: ({ kind, count }) => `${nameIn(KINDS, kind)}${count > 1 ? ` ×${count}` : ""}`,
  },
  { name: t("Status"), cell: ({ status }) => <Tag>{nameIn(STATES, status)}</Tag> },
  {
    name: t("Sent"),
    isRight: true,
    isMinor: true,
    cell: ({ sentAt, dueAt, createdAt }) => <When at={sentAt ?? dueAt ?? createdAt} />,
  },
];

/** Who was notified about an automation, and why someone wasn't. */
export function Notices({ automation: { id, warnings = [] } }: { automation: Automation }) {
  const notices = useApi("GET /api/v1/notices", { query: { automation_id: id, limit: 50 } });
  return (
    <>
      {warnings.map((warning) => (
        <p key={warning} role="status" className="card mb-4 p-4 text-sm">
          {warning}
        </p>
      ))}
      <Section title={t("Notices")} flush>
        <Shown of={notices}>
          {({ items }) =>
            items.length === 0 ? (
              <Empty icon={BellOff} title={t("No notices yet")}>
                {t(
                  "Alerts notify people when the automation fails, recovers or is late. You can set them in Settings.",
                )}
              </Empty>
            ) : (
              <Table label={t("Notices")} columns={COLUMNS} rows={items} keyOf={({ id }) => id} />
            )
          }
        </Shown>
      </Section>
    </>
  );
}

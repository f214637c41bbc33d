import { Link } from "wouter";
import type { Entity } from "../../../src/resources/events/service.ts";
import type { AuditEvent } from "../../calls.ts";
import { useApi } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Mono } from "../base/copy.tsx";
import { Dialog } from "../base/dialog.tsx";
import { Facts, Shown } from "../base/page.tsx";
import { exactly } from "../base/time.tsx";
import { Timeline } from "../base/timeline.tsx";
import { Tree } from "../base/tree.tsx";
import { subjectOf, titleOf, toneOf, useSubjects, who } from "./words.ts";

/** Pages of the resources of events, if they have one by ID. */
const PAGES: Readonly<Record<string, string>> = {
  action: "/actions/",
  action_run: "/runs/",
  connection: "/connections/",
  automation: "/automations/",
  automation_run: "/automation-runs/",
  artifact: "/artifacts/",
  bundle: "/bundles/",
  template: "/templates/",
  webhook: "/webhooks/",
} satisfies Partial<Record<Entity["type"], string>>;

/** Events with the same correlation ID, in order. */
export function Story({ id }: { id: string }) {
  const subjects = useSubjects();
  const chain = useApi("GET /api/v1/events", { query: { correlationId: id, order: "asc", limit: 100 } });
  return (
    <div className="border-b border-line bg-ground p-4">
      <h2 className="mb-3 text-sm font-semibold">{t("Events with the same correlation ID")}</h2>
      <Shown of={chain} rows={3}>
        {({ items }) => (
          <Timeline
            moments={items.map((event) => ({
              id: event.id,
              at: event.timestamp,
              status: toneOf(event.type),
              title: titleOf(event),
              detail: [subjectOf(event, subjects), who(event, subjects)].filter(Boolean).join(" · "),
            }))}
          />
        )}
      </Shown>
    </div>
  );
}

/** All fields of an event. */
export function WholeEvent({ event, onClose }: { event: AuditEvent; onClose: () => void }) {
  const page = PAGES[event.entity.type];
  const subjects = useSubjects();
  const { correlationId } = event.metadata;
  return (
    <Dialog title={titleOf(event)} onClose={onClose} isWide>
      <Facts
        of={[
          [t("Time"), exactly(event.timestamp)],
          [t("Type"), <Mono key="type" text={event.type} />],
          [
            t("Resource"),
            <span key="about">
              {event.entity.type}{" "}
              {page ? (
                <Link href={page + event.entity.id} className="text-accent hover:underline" onClick={onClose}>
                  {event.entity.id}
                </Link>
              ) : (
                event.entity.id
              )}
              {" · "}
              <Link
                href={`/events?entityType=${event.entity.type}&entityId=${encodeURIComponent(event.entity.id)}`}
                className="text-accent hover:underline"
                onClick={onClose}
              >
                {t("View its events")}
              </Link>
            </span>,
          ],
          [t("Actor"), `${who(event, subjects)}${event.actor.ip ? ` (${event.actor.ip})` : ""}`],
          [
            t("Correlation ID"),
            <Link
              key="chain"
              href={`/events?correlationId=${encodeURIComponent(correlationId)}`}
              className="text-accent hover:underline"
              onClick={onClose}
            >
              {t("View related events")}
            </Link>,
          ],
          ["ID", <Mono key="id" text={event.id} />],
          [t("Hash"), <Mono key="hash" text={event.hash} shown={`${event.hash.slice(0, 16)}…`} />],
        ]}
      />
      <h3 className="mt-5 mb-2 font-semibold">{t("Data")}</h3>
      <Tree value={event.data} copyLabel={t("Copy data as JSON")} />
    </Dialog>
  );
}

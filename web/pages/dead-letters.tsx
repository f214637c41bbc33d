import { MailCheck, RotateCcw, Trash2 } from "lucide-react";
import { useState } from "react";
import { Link } from "wouter";
import type { DeadLetter } from "../calls.ts";
import { useChange, useMay } from "../data.ts";
import { Button, IconButton } from "../parts/base/button.tsx";
import { Confirm } from "../parts/base/dialog.tsx";
import { errorLine } from "../parts/base/error-text.tsx";
import { Empty, PageHead } from "../parts/base/page.tsx";
import { plural } from "../parts/base/plural.ts";
import { Status } from "../parts/base/status.tsx";
import { When } from "../parts/base/time.tsx";
import { Siblings, WEBHOOK_PAGES } from "../parts/layout/siblings.tsx";
import { Choice, FilterBar } from "../parts/table/filters.tsx";
import { NoMatches } from "../parts/table/no-matches.tsx";
import { Older, useOlder } from "../parts/table/older.tsx";
import { type Column, Table, useFilters } from "../parts/table/table.tsx";
import { useReceivers, useSubscriptions } from "../parts/webhooks/subscriptions.ts";
import { t } from "../texts/text.ts";

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: one page, from its query to its table
export default function DeadLetters() {
  const may = useMay("member");
  const filters = useFilters();
  const subscriptions = useSubscriptions();
  const receivers = useReceivers();
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [gone, setGone] = useState<DeadLetter | null>(null);
  const automation = filters.get("automation");
  const webhook = filters.get("webhook");
  const source = filters.get("source");
  const query = {
    ...(source ? { source } : {}),
    ...(automation ? { automation_id: automation } : {}),
    ...(webhook ? { webhook_id: webhook } : {}),
  };
  const letters = useOlder("GET /api/v1/dead-letters", { query: query as never });
  const touches = ["/dead-letters", "/webhook-deliveries", "/webhooks"] as const;
  const replay = useChange("POST /api/v1/dead-letters/{dead_letter_id}/replay", {
    touches,
    done: t("Replay queued"),
  });
  const replayMany = useChange("POST /api/v1/dead-letters/replay", {
    touches,
    done: ({ replayed }) => plural(replayed, { one: "# replay queued", other: "# replays queued" }),
    onDone: () => setChosen(new Set()),
  });
  const dead = (letters.items ?? []).filter(({ status }) => status === "dead");
  const ids = dead.filter(({ id }) => chosen.has(id)).map(({ id }) => id);
  const all = automation ? { automationId: automation } : webhook ? { webhookId: webhook } : null;
  const nameOf = ({ source: from, sourceId }: DeadLetter) =>
    (from === "inbound" ? subscriptions : receivers).get(sourceId) ??
    (from === "inbound" ? t("Automation") : t("Webhook"));
  const columns: readonly Column<DeadLetter>[] = [
    ...(may
      ? [
          {
            name: t("Select"),
            isUntitled: true,
            cell: (letter: DeadLetter) =>
              letter.status === "dead" && (
                <input
                  type="checkbox"
                  className="block size-4 accent-accent"
                  aria-label={t("Select dead letter of {letter}", { letter: nameOf(letter) })}
                  checked={chosen.has(letter.id)}
                  onChange={(event) => {
                    const next = new Set(chosen);
                    if (event.target.checked) next.add(letter.id);
                    else next.delete(letter.id);
                    setChosen(next);
                  }}
                />
              ),
          },
        ]
      : []),
    {
      name: t("Delivery"),
      isWide: true,
      cell: (letter) => (
        <span className="block min-w-0">
          <Link
            href={
              letter.source === "inbound"
                ? `/deliveries/${letter.deliveryId}`
                : `/webhooks/${letter.sourceId}?delivery=${letter.deliveryId}`
            }
            className="block truncate font-medium hover:text-accent"
          >
            <span className="text-soft">
              {letter.source === "inbound" ? t("Incoming") : t("Outgoing")} ·{" "}
            </span>
            <span dir="auto">{nameOf(letter)}</span>
            {letter.eventType && (
              <>
                {" "}
                <code className="ml-1 font-mono text-xs text-soft">{letter.eventType}</code>
              </>
            )}
          </Link>
          <span className="block truncate text-xs text-soft" dir="auto">
            {errorLine(letter.error)}
          </span>
        </span>
      ),
    },
    { name: t("Status"), isMinor: true, cell: ({ status }) => <Status status={status} /> },
    { name: t("Attempts"), isMinor: true, isRight: true, cell: ({ attempts }) => attempts },
    {
      name: t("Last attempt"),
      isMinor: true,
      isRight: true,
      cell: ({ lastFailedAt }) => <When at={lastFailedAt} />,
    },
    ...(may
      ? [
          {
            name: t("Actions"),
            isRight: true,
            isUntitled: true,
            cell: (letter: DeadLetter) => (
              <span className="inline-flex">
                <IconButton
                  icon={RotateCcw}
                  label={t("Replay")}
                  disabled={letter.status !== "dead" || replay.isPending}
                  onClick={() => replay.mutate({ path: { dead_letter_id: letter.id } })}
                />
                <IconButton icon={Trash2} label={t("Discard")} onClick={() => setGone(letter)} />
              </span>
            ),
          },
        ]
      : []),
  ];
  return (
    <>
      <PageHead
        title={t("Dead letters")}
        about={t("Deliveries that failed on every attempt. Fix the cause, then replay them.")}
      >
        {may && ids.length > 0 && (
          <Button
            kind="main"
            icon={RotateCcw}
            busy={replayMany.isPending}
            onClick={() => replayMany.mutate({ body: { ids } })}
          >
            {plural(ids.length, { one: "Replay # selected", other: "Replay # selected" })}
          </Button>
        )}
        {may && ids.length === 0 && dead.length > 0 && all && (
          <Button
            kind="main"
            icon={RotateCcw}
            busy={replayMany.isPending}
            onClick={() => replayMany.mutate({ body: all })}
          >
            {automation
              ? t("Replay all of {name}", { name: subscriptions.get(automation) ?? t("the automation") })
              : t("Replay all of the webhook")}
          </Button>
        )}
        {may && ids.length === 0 && dead.length > 1 && (
          <Button onClick={() => setChosen(new Set(dead.map(({ id }) => id)))}>
            {t("Select all on this page")}
          </Button>
        )}
        {ids.length > 0 && <Button onClick={() => setChosen(new Set())}>{t("Clear selection")}</Button>}
      </PageHead>
      <Siblings of={WEBHOOK_PAGES} label={t("Webhooks")} />
      <div className="card">
        <FilterBar onClear={filters.isAny && filters.clear}>
          <Choice
            label={t("Direction")}
            value={source}
            options={[
              ["inbound", t("Incoming")],
              ["outbound", t("Outgoing")],
            ]}
            onChange={(value) => filters.set("source", value)}
          />
          <Choice
            label={t("Automation")}
            value={automation}
            options={[...subscriptions]}
            onChange={(value) => filters.set("automation", value)}
          />
          {receivers.size > 0 && (
            <Choice
              label={t("Webhook")}
              value={webhook}
              options={[...receivers]}
              onChange={(value) => filters.set("webhook", value)}
            />
          )}
        </FilterBar>
        <Older of={letters} rows={8}>
          {(items) =>
            items.length > 0 ? (
              <Table label={t("Dead letters")} columns={columns} rows={items} keyOf={({ id }) => id} />
            ) : filters.isAny ? (
              <NoMatches title={t("No dead letters match these filters")} onClear={filters.clear} />
            ) : (
              <Empty icon={MailCheck} title={t("No dead letters")}>
                {t("Deliveries that fail on every attempt appear here. You can replay them.")}
              </Empty>
            )
          }
        </Older>
      </div>
      {gone && <Discard letter={gone} name={nameOf(gone)} onClose={() => setGone(null)} />}
    </>
  );
}

interface DiscardProps {
  letter: DeadLetter;
  name: string;
  onClose: () => void;
}

function Discard({ letter, name, onClose }: DiscardProps) {
  const remove = useChange("DELETE /api/v1/dead-letters/{dead_letter_id}", {
    touches: ["/dead-letters"],
    done: t("Dead letter discarded"),
    onDone: onClose,
  });
  return (
    <Confirm
      title={t("Discard dead letter of {name}?", { name })}
      verb={t("Discard")}
      isBusy={remove.isPending}
      onClose={onClose}
      onConfirm={() => remove.mutate({ path: { dead_letter_id: letter.id } }, { onError: onClose })}
    >
      <p className="[overflow-wrap:anywhere]">
        {t("You can no longer replay it. The delivery stays in the log until its retention period ends.")}
      </p>
    </Confirm>
  );
}

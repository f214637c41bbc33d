import { useInfiniteQuery } from "@tanstack/react-query";
import { Radio, ScrollText, ShieldCheck } from "lucide-react";
import { useEffect, useState } from "react";
import { Link } from "wouter";
import { call } from "../api.ts";
import type { AuditEvent } from "../calls.ts";
import { useApi } from "../data.ts";
import { onEvent } from "../live.ts";
import { Button } from "../parts/button.tsx";
import { Mono } from "../parts/copy.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Chip, Choice, FilterBar } from "../parts/filters.tsx";
import { Empty, Facts, Failed, Loading, PageHead, Shown } from "../parts/page.tsx";
import { StatusIcon } from "../parts/status.tsx";
import { useFilters } from "../parts/table.tsx";
import { exactly, When } from "../parts/time.tsx";
import { Timeline } from "../parts/timeline.tsx";
import { Tree } from "../parts/tree.tsx";

const LIMIT = 50;
/** Live events beyond these are found by asking for the list anew. */
const MOST_LIVE = 500;

/** A status that says by colour and shape what kind of event it is. */
function toneOf(type: string): string {
  const word = type.split(".")[1] ?? "";
  if (/failed|error|dead_lettered|revoked|deleted|missed|denied/.test(word)) return "failed";
  if (/completed|tested|approved|granted|enabled|installed|published/.test(word)) return "completed";
  if (/cancelled|disabled|expired|withdrawn|deprecated|discarded/.test(word)) return "cancelled";
  if (/requested/.test(word)) return "waiting";
  return "pending";
}

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
};

const who = ({ actor }: AuditEvent) => actor.email ?? (actor.type === "system" ? "Weir" : actor.type);

const nameOf = ({ data }: AuditEvent) => {
  const { name, kind, error } = data as { name?: unknown; kind?: unknown; error?: { message?: unknown } };
  return [name, kind, error?.message].find((each) => typeof each === "string") as string | undefined;
};

export default function Events() {
  const filters = useFilters();
  const meta = useApi("GET /api/v1/meta", {}, { isFixed: true });
  const [isLive, setLive] = useState(true);
  const [fresh, setFresh] = useState<readonly AuditEvent[]>([]);
  const [opened, setOpened] = useState<AuditEvent | null>(null);
  const correlationId = filters.get("correlationId");
  const given = {
    type: filters.get("type"),
    actorType: filters.get("actorType"),
    entityType: filters.get("entityType"),
    entityId: filters.get("entityId"),
    actorId: filters.get("actorId"),
    correlationId,
  };
  const query = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== "")) as Partial<
    typeof given
  >;
  const key = JSON.stringify(query);
  const list = useInfiniteQuery({
    queryKey: ["events-list", key],
    queryFn: ({ signal, pageParam }) =>
      call(
        "GET /api/v1/events",
        { query: { ...(query as object), limit: LIMIT, ...(pageParam ? { cursor: pageParam } : {}) } },
        { signal },
      ),
    initialPageParam: "",
    getNextPageParam: ({ nextCursor, hasMore }) => (hasMore ? nextCursor : undefined),
    staleTime: 0,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: other filters begin anew
  useEffect(() => {
    setFresh([]);
    if (!isLive) return;
    return onEvent((event) => setFresh((before) => [event, ...before].slice(0, MOST_LIVE)));
  }, [isLive, key]);

  const old = list.data?.pages.flatMap(({ items }) => items) ?? [];
  const known = new Set(old.map(({ id }) => id));
  const items = [...fresh.filter((event) => !known.has(event.id) && fits(event, query)), ...old];
  const groups = [...new Set((meta.data?.eventTypes ?? []).map((type) => type.split(".")[0] ?? ""))];
  return (
    <>
      <PageHead
        title="Events"
        about="Everything that was done here, by whom. Nobody can change or delete what it says."
      >
        <Verify />
        <Button
          icon={Radio}
          aria-pressed={isLive}
          className={isLive ? "text-good" : ""}
          onClick={() => setLive(!isLive)}
        >
          {isLive ? "Live" : "Paused"}
        </Button>
      </PageHead>
      <div className="card">
        <FilterBar onClear={filters.isAny && filters.clear}>
          <Choice
            label="Type"
            value={filters.get("type")}
            options={groups.flatMap((group) => [
              [`${group}.*`, `${group}: all`] as const,
              ...(meta.data?.eventTypes ?? [])
                .filter((type) => type.startsWith(`${group}.`))
                .map((type) => [type, type] as const),
            ])}
            onChange={(value) => filters.set("type", value)}
          />
          <Choice
            label="Actor"
            value={filters.get("actorType")}
            options={[
              ["user", "People"],
              ["api", "API keys"],
              ["automation", "Automations"],
              ["system", "Weir"],
            ]}
            onChange={(value) => filters.set("actorType", value)}
          />
          {(["entityType", "entityId", "actorId", "correlationId"] as const).map(
            (name) =>
              filters.get(name) && (
                <Chip key={name} name={name} value={filters.get(name)} onDrop={() => filters.set(name, "")} />
              ),
          )}
        </FilterBar>
        {correlationId && <Story id={correlationId} />}
        {list.isPending ? (
          <Loading rows={8} />
        ) : list.error ? (
          <Failed error={list.error} again={() => void list.refetch()} />
        ) : items.length === 0 ? (
          <Empty
            icon={ScrollText}
            title={filters.isAny ? "No event fits these filters" : "Nothing has happened yet"}
          />
        ) : (
          <ol>
            {items.map((event) => (
              <li key={event.id} className="border-t border-line first:border-t-0">
                <button
                  type="button"
                  onClick={() => setOpened(event)}
                  className="flex w-full items-center gap-3 px-4 py-2 text-left text-sm hover:bg-sunken/60"
                >
                  <StatusIcon status={toneOf(event.type)} />
                  <span className="shrink-0 font-medium">{event.type}</span>
                  <span className="min-w-0 grow truncate text-soft" dir="auto">
                    {nameOf(event)}
                  </span>
                  <span className="max-w-48 truncate text-xs text-soft max-sm:hidden">{who(event)}</span>
                  <span className="w-28 shrink-0 text-right text-xs text-soft">
                    <When at={event.timestamp} />
                  </span>
                </button>
              </li>
            ))}
          </ol>
        )}
        {list.hasNextPage && (
          <div className="border-t border-line p-2 text-center">
            <Button kind="quiet" busy={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
              Older events
            </Button>
          </div>
        )}
      </div>
      {opened && <Whole event={opened} onClose={() => setOpened(null)} />}
    </>
  );
}

/** Whether an event that just happened belongs to the list as it is filtered. */
function fits(event: AuditEvent, query: Readonly<Record<string, string | undefined>>): boolean {
  const { type, entityType, entityId, actorType, actorId, correlationId } = query;
  const isType =
    !type || type === event.type || (type.endsWith("*") && event.type.startsWith(type.slice(0, -1)));
  const same = (wanted: string | undefined, is: string) => !wanted || wanted === is;
  return (
    isType &&
    same(entityType, event.entity.type) &&
    same(entityId, event.entity.id) &&
    same(actorType, event.actor.type) &&
    same(actorId, event.actor.id) &&
    same(correlationId, event.metadata.correlationId)
  );
}

/** What one cause led to, as a story. */
function Story({ id }: { id: string }) {
  const chain = useApi("GET /api/v1/events", { query: { correlationId: id, order: "asc", limit: 100 } });
  return (
    <div className="border-b border-line bg-ground p-4">
      <h2 className="mb-3 text-sm font-semibold">What one cause led to</h2>
      <Shown of={chain} rows={3}>
        {({ items }) => (
          <Timeline
            moments={items.map((event) => ({
              at: event.timestamp,
              status: toneOf(event.type),
              title: event.type,
              detail: [nameOf(event), who(event)].filter(Boolean).join(" · "),
            }))}
          />
        )}
      </Shown>
    </div>
  );
}

function Verify() {
  const [asked, setAsked] = useState(false);
  const result = useApi("GET /api/v1/events/verify", {}, { enabled: asked });
  const text = result.data
    ? result.data.valid
      ? `Intact: ${result.data.checked} events`
      : `Broken at ${result.data.firstBadId}`
    : "Verify the trail";
  return (
    <Button
      icon={ShieldCheck}
      busy={asked && result.isFetching}
      className={result.data ? (result.data.valid ? "text-good" : "text-bad") : ""}
      title="Recomputes the chain of hashes over all events"
      onClick={() => (asked ? void result.refetch() : setAsked(true))}
    >
      <span aria-live="polite">{text}</span>
    </Button>
  );
}

function Whole({ event, onClose }: { event: AuditEvent; onClose: () => void }) {
  const page = PAGES[event.entity.type];
  const { correlationId } = event.metadata;
  return (
    <Dialog title={event.type} onClose={onClose} isWide>
      <Facts
        of={[
          ["When", exactly(event.timestamp)],
          [
            "About",
            <span key="about">
              {event.entity.type}{" "}
              {page ? (
                <Link href={page + event.entity.id} className="text-accent hover:underline" onClick={onClose}>
                  {event.entity.id}
                </Link>
              ) : (
                event.entity.id
              )}
            </span>,
          ],
          ["By", `${who(event)}${event.actor.ip ? ` from ${event.actor.ip}` : ""}`],
          [
            "Chain",
            <Link
              key="chain"
              href={`/events?correlationId=${encodeURIComponent(correlationId)}`}
              className="text-accent hover:underline"
              onClick={onClose}
            >
              What it belongs to
            </Link>,
          ],
          ["Id", <Mono key="id" text={event.id} />],
          ["Hash", <Mono key="hash" text={event.hash} shown={`${event.hash.slice(0, 16)}…`} />],
        ]}
      />
      <h3 className="mt-5 mb-2 font-semibold">Data</h3>
      <Tree value={event.data} label="the data" />
    </Dialog>
  );
}

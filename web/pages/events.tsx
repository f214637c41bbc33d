import { useInfiniteQuery } from "@tanstack/react-query";
import { Radio, ScrollText, ShieldCheck } from "lucide-react";
import { useEffect, useState } from "react";
import { call } from "../api.ts";
import type { AuditEvent } from "../calls.ts";
import { useApi } from "../data.ts";
import { onEvent } from "../live.ts";
import { Button } from "../parts/base/button.tsx";
import { named } from "../parts/base/named.ts";
import { Empty, Failed, Loading, PageHead } from "../parts/base/page.tsx";
import { EventRow } from "../parts/events/row.tsx";
import { Story, WholeEvent } from "../parts/events/whole.tsx";
import { folded, useSubjects } from "../parts/events/words.ts";
import { Chip, Choice, FilterBar } from "../parts/table/filters.tsx";
import { useFilters } from "../parts/table/table.tsx";

const ACTORS = named<AuditEvent["actor"]["type"]>({
  user: "People",
  api: "API keys",
  automation: "Automations",
  system: "Weir",
});
const LIMIT = 50;
/** Live events beyond these are found by asking for the list anew. */
const MOST_LIVE = 500;

export default function Events() {
  const filters = useFilters();
  const subjects = useSubjects();
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
            options={ACTORS}
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
            {folded(items).map((event) => (
              <EventRow key={event.event.id} entry={event} subjects={subjects} onOpen={setOpened} />
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
      {opened && <WholeEvent event={opened} onClose={() => setOpened(null)} />}
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

const BROKEN = {
  truncated: "Newest events missing",
  rewritten: "Events changed or removed",
  rolled_back: "Older copy put back",
};

function Verify() {
  const [asked, setAsked] = useState(false);
  const result = useApi("GET /api/v1/events/verify", {}, { enabled: asked });
  const text = result.data
    ? result.data.valid
      ? `Intact: ${result.data.checked} events`
      : BROKEN[result.data.reason ?? "rewritten"]
    : "Verify the trail";
  return (
    <Button
      icon={ShieldCheck}
      busy={asked && result.isFetching}
      className={result.data ? (result.data.valid ? "text-good" : "text-bad") : ""}
      title={
        result.data?.firstBadId
          ? `First at ${result.data.firstBadId}`
          : "Recomputes the hash chain over all events"
      }
      onClick={() => (asked ? void result.refetch() : setAsked(true))}
    >
      <span aria-live="polite">{text}</span>
    </Button>
  );
}

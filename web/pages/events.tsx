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
import { plural } from "../parts/base/plural.ts";
import { EventRow } from "../parts/events/row.tsx";
import { Story, WholeEvent } from "../parts/events/whole.tsx";
import { folded, useSubjects } from "../parts/events/words.ts";
import { Chip, Choice, FilterBar } from "../parts/table/filters.tsx";
import { NoMatches } from "../parts/table/no-matches.tsx";
import { useFilters } from "../parts/table/table.tsx";
import { t } from "../texts/text.ts";

const ACTORS = named<AuditEvent["actor"]["type"]>({
  user: t("Users"),
  api: t("API keys"),
  automation: t("Automations"),
  system: "Weir",
});
const LIMIT = 50;
/** Live events beyond these are found by asking for the list anew. */
const MOST_LIVE = 500;

/** Filters that links set. */
const LINKED = [
  ["entityType", t("Resource type")],
  ["entityId", t("Resource ID")],
  ["actorId", t("Actor ID")],
  ["correlationId", t("Correlation ID")],
] as const;

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: one page, from its filters to its list
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
        title={t("Events")}
        about={t("The audit log: who did what, and when. Entries can't be changed or deleted.")}
      >
        <Verify />
        <Button
          icon={Radio}
          aria-pressed={isLive}
          className={isLive ? "text-good" : ""}
          onClick={() => setLive(!isLive)}
        >
          {isLive ? t("Live") : t("Paused")}
        </Button>
      </PageHead>
      <div className="card">
        <FilterBar onClear={filters.isAny && filters.clear}>
          <Choice
            label={t("Type")}
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
            label={t("Actor")}
            value={filters.get("actorType")}
            options={ACTORS}
            onChange={(value) => filters.set("actorType", value)}
          />
          {LINKED.map(
            ([name, title]) =>
              filters.get(name) && (
                <Chip
                  key={name}
                  name={title}
                  value={filters.get(name)}
                  onDrop={() => filters.set(name, "")}
                />
              ),
          )}
        </FilterBar>
        {correlationId && <Story id={correlationId} />}
        {list.isPending ? (
          <Loading rows={8} />
        ) : list.error ? (
          <Failed error={list.error} again={() => void list.refetch()} />
        ) : items.length === 0 ? (
          filters.isAny ? (
            <NoMatches title={t("No events match these filters")} onClear={filters.clear} />
          ) : (
            <Empty icon={ScrollText} title={t("No events yet")} />
          )
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
              {t("Load more")}
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
  truncated: t("Latest events missing"),
  rewritten: t("Events altered or removed"),
  rolled_back: t("Older copy restored"),
};

function Verify() {
  const [asked, setAsked] = useState(false);
  const result = useApi("GET /api/v1/events/verify", {}, { enabled: asked });
  const text = result.data
    ? result.data.valid
      ? plural(result.data.checked, { one: "Verified: # event intact", other: "Verified: # events intact" })
      : BROKEN[result.data.reason ?? "rewritten"]
    : t("Verify integrity");
  return (
    <Button
      icon={ShieldCheck}
      busy={asked && result.isFetching}
      className={result.data ? (result.data.valid ? "text-good" : "text-bad") : ""}
      title={
        result.data?.firstBadId
          ? t("First affected event: {firstBadId}", { firstBadId: result.data.firstBadId })
          : t("Recompute the hash chain of all events")
      }
      onClick={() => (asked ? void result.refetch() : setAsked(true))}
    >
      <span aria-live="polite">{text}</span>
    </Button>
  );
}

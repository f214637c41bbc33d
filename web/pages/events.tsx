import { useInfiniteQuery } from "@tanstack/react-query";
import { Radio, ScrollText, SearchX, ShieldCheck } from "lucide-react";
import { useEffect, useMemo, useState } from "react";
import { useSearch } from "wouter";
import { call } from "../api.ts";
import type { AuditEvent } from "../calls.ts";
import { useApi } from "../data.ts";
import { onEvent } from "../live.ts";
import { Button } from "../parts/base/button.tsx";
import { Empty, Failed, Loading, PageHead } from "../parts/base/page.tsx";
import { plural } from "../parts/base/plural.ts";
import { EventFilters, eventQueryOf, fits } from "../parts/events/filters.tsx";
import { EventRow } from "../parts/events/row.tsx";
import { Story, WholeEvent } from "../parts/events/whole.tsx";
import { folded, useSubjects } from "../parts/events/words.ts";
import { NoMatches } from "../parts/table/no-matches.tsx";
import { useFilters } from "../parts/table/table.tsx";
import { t } from "../texts/text.ts";

const LIMIT = 50;
/** With more live events than this, the list is reloaded. */
const MOST_LIVE = 500;

export default function Events() {
  const filters = useFilters();
  const subjects = useSubjects();
  const [isLive, setLive] = useState(true);
  const [fresh, setFresh] = useState<readonly AuditEvent[]>([]);
  const [opened, setOpened] = useState<AuditEvent | null>(null);
  const correlationId = filters.get("correlationId");
  const address = useSearch();
  // biome-ignore lint/correctness/useExhaustiveDependencies: a relative period starts when it is selected
  const query = useMemo(() => eventQueryOf(filters), [address]);
  const key = JSON.stringify(query);
  const list = useInfiniteQuery({
    queryKey: ["events-list", key],
    queryFn: ({ signal, pageParam }) =>
      call(
        "GET /api/v1/events",
        { query: { ...query, limit: LIMIT, ...(pageParam ? { cursor: pageParam } : {}) } },
        { signal },
      ),
    initialPageParam: "",
    getNextPageParam: ({ nextCursor, hasMore }) => (hasMore ? nextCursor : undefined),
    staleTime: 0,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: other filters start over
  useEffect(() => {
    setFresh([]);
    if (!isLive) return;
    return onEvent((event) => setFresh((before) => [event, ...before].slice(0, MOST_LIVE)));
  }, [isLive, key]);

  const old = list.data?.pages.flatMap(({ items }) => items) ?? [];
  const known = new Set(old.map(({ id }) => id));
  const items = [...fresh.filter((event) => !known.has(event.id) && fits(event, query)), ...old];
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
        <EventFilters filters={filters} subjects={subjects} />
        {correlationId && <Story id={correlationId} />}
        {list.isPending ? (
          <Loading rows={8} />
        ) : list.error ? (
          <Failed error={list.error} again={() => void list.refetch()} />
        ) : items.length === 0 ? (
          list.hasNextPage ? (
            <Empty
              icon={SearchX}
              title={t("No matches among the newest events")}
              action={
                <Button busy={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
                  {t("Search older events")}
                </Button>
              }
            />
          ) : filters.isAny ? (
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
        {list.hasNextPage && items.length > 0 && (
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

const BROKEN = {
  truncated: t("Latest events missing"),
  rewritten: t("Events altered or removed"),
  rolled_back: t("Older copy restored"),
};

function Verify() {
  const [isStarted, setStarted] = useState(false);
  const result = useApi("GET /api/v1/events/verify", {}, { enabled: isStarted });
  const text = result.data
    ? result.data.valid
      ? plural(result.data.checked, { one: "Verified: # event intact", other: "Verified: # events intact" })
      : BROKEN[result.data.reason ?? "rewritten"]
    : t("Verify integrity");
  return (
    <Button
      icon={ShieldCheck}
      busy={isStarted && result.isFetching}
      className={result.data ? (result.data.valid ? "text-good" : "text-bad") : ""}
      title={
        result.data?.firstBadId
          ? t("First affected event: {firstBadId}", { firstBadId: result.data.firstBadId })
          : t("Recompute the hash chain of all events")
      }
      onClick={() => (isStarted ? void result.refetch() : setStarted(true))}
    >
      <span aria-live="polite">{text}</span>
    </Button>
  );
}

import { useEffect } from "react";
import type { AuditEvent, Run } from "../../calls.ts";
import { useApi } from "../../data.ts";
import { onEvent } from "../../live.ts";
import type { StatusWord } from "../base/status.tsx";
import { type EventWord, partsOf } from "../events/type.ts";

/** Maximum number of events to read. The Events page has the rest. */
const MOST_EVENTS = 200;
/** An event is written a moment after what it reports. */
const SLACK_MS = 5000;
/** A burst of events reloads the chain once. */
const GATHER_MS = 500;

/** What the audit trail says of a run, and the chain that it belongs to; that is null until the trail is read. */
export function useRunTrail(run: Run): { events: readonly AuditEvent[]; correlationId: string | null } {
  const events = useApi("GET /api/v1/events", {
    query: {
      type: "action.*",
      entityId: run.actionId ?? run.id,
      since: run.createdAt,
      order: "asc",
      limit: MOST_EVENTS,
      ...(run.completedAt ? { until: new Date(Date.parse(run.completedAt) + SLACK_MS).toISOString() } : {}),
    },
  });
  const own = (events.data?.items ?? []).filter(({ data }) => data.runId === run.id);
  return { events: own, correlationId: own[0]?.metadata.correlationId ?? null };
}

export interface ChainRun {
  id: string;
  href: string;
  /** Kind of the action. Null for a run of an automation. */
  kind: string | null;
  status: StatusWord;
  since: string;
}

const STATUS: Readonly<Partial<Record<EventWord, StatusWord>>> = {
  started: "running",
  triggered: "running",
  progress: "waiting",
  completed: "completed",
  failed: "failed",
  cancelled: "cancelled",
};

/**
 * The runs that one outside cause led to, in their order, as far as the trail tells of them. It is asked again with
 * each `status` of the run at hand, whose end may have been told before the chain was known.
 */
export function useChainRuns(correlationId: string | null, status: string): readonly ChainRun[] {
  const events = useApi(
    "GET /api/v1/events",
    { query: { correlationId: correlationId ?? "", order: "asc", limit: MOST_EVENTS } },
    { enabled: correlationId !== null },
  );
  const { refetch } = events;
  // biome-ignore lint/correctness/useExhaustiveDependencies: another status says that there is more to read
  useEffect(() => {
    if (correlationId !== null) void refetch();
  }, [correlationId, status, refetch]);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = onEvent(({ metadata }) => {
      if (metadata.correlationId !== correlationId) return;
      clearTimeout(timer);
      timer = setTimeout(() => void refetch(), GATHER_MS);
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [correlationId, refetch]);
  const runs = new Map<string, ChainRun>();
  for (const { type, timestamp, data } of events.data?.items ?? []) {
    const [noun, word] = partsOf(type);
    const { runId: id, kind } = data as { runId?: unknown; kind?: unknown };
    const status = STATUS[word];
    if (typeof id !== "string" || !status || (noun !== "action" && noun !== "automation")) continue;
    const before = runs.get(id);
    const isAction = noun === "action";
    runs.set(id, {
      id,
      href: isAction ? `/runs/${id}` : `/automation-runs/${id}`,
      kind: isAction ? String(kind ?? before?.kind ?? "action") : null,
      status: word === "progress" ? (before?.status ?? status) : status,
      since: before?.since ?? timestamp,
    });
  }
  return [...runs.values()];
}

import { useEffect } from "react";
import type { AuditEvent, Run } from "../../calls.ts";
import { useApi } from "../../data.ts";
import { onEvent } from "../../live.ts";
import type { StatusWord } from "../base/status.tsx";
import { type EventWord, partsOf } from "../events/type.ts";

/** Maximum number of events to read. The Events page has the rest. */
const MOST_EVENTS = 200;
/** An event is recorded shortly after what it reports. */
const SLACK_MS = 5000;
/** A burst of events reloads the chain once. */
const GATHER_MS = 500;

/** Events of a run in the audit log, and its correlation ID, which is null until they are loaded. */
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
 * Runs with the same correlation ID in order, as far as the audit log has them.
 * Reloaded when `status` of the current run changes, since its end may have been reported before the chain was known.
 */
export function useChainRuns(correlationId: string | null, status: string): readonly ChainRun[] {
  const events = useApi(
    "GET /api/v1/events",
    { query: { correlationId: correlationId ?? "", order: "asc", limit: MOST_EVENTS } },
    { enabled: correlationId !== null },
  );
  const { refetch } = events;
  // biome-ignore lint/correctness/useExhaustiveDependencies: another status means that there is more to read
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

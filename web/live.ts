import { useSyncExternalStore } from "react";
import { ApiError, follow, whenFirstReplied } from "./api.ts";
import type { Address, AuditEvent } from "./calls.ts";
import { client, refresh } from "./data.ts";
import { type EventNoun, partsOf } from "./parts/events/type.ts";

type Link = "connecting" | "open" | "lost";

/** Lists that an event of this group may have changed. */
const CHANGED: Readonly<Record<EventNoun, readonly Address[]>> = {
  action: [
    "/actions",
    "/action-runs",
    "/automation-runs",
    "/automations",
    "/datasets",
    "/artifacts",
    "/overview",
    "/uses",
  ],
  connection: ["/connections", "/overview"],
  automation: ["/automations", "/automation-runs", "/webhook-deliveries", "/overview", "/uses"],
  decision: ["/approvals", "/decisions", "/action-runs", "/automation-runs", "/overview"],
  dataset: ["/datasets"],
  query: ["/queries"],
  dashboard: ["/dashboards"],
  dashboard_subscription: ["/subscriptions"],
  bundle: ["/actions", "/automations", "/connections", "/datasets", "/templates", "/events"],
  template: ["/templates", "/bundles"],
  artifact: ["/artifacts"],
  webhook: ["/dead-letters", "/webhook-deliveries", "/webhooks", "/overview"],
  auth: ["/access-tokens", "/api-keys", "/organizations", "/memberships", "/sessions"],
  organization: ["/organizations", "/memberships"],
  user: ["/users"],
  agent_spec: ["/agents/specs"],
  chat_thread: ["/chat/threads"],
  chat_turn: ["/chat/threads"],
  catalog: ["/api-catalog"],
  backup: [],
};

/** A burst of events reloads the lists once. */
const GATHER_MS = 700;
/** Minimum time between two reloads, however many events arrive. */
const SPACING_MS = 3000;
const RETRY_MS = [500, 1000, 2000, 5000, 10_000];

let link: Link = "connecting";
let last: string | null = null;
/** True if there was a connection since the page was opened. */
let hasOpened = false;
const watchers = new Set<() => void>();
const readers = new Set<(event: AuditEvent) => void>();
const gathered = new Set<Address>();
let isGathering = false;
let refreshedAt = Number.NEGATIVE_INFINITY;

function setLink(to: Link): void {
  if (link === to) return;
  link = to;
  for (const watcher of watchers) watcher();
}

function gather(event: AuditEvent): void {
  for (const path of CHANGED[partsOf(event.type)[0]] ?? []) gathered.add(path);
  if (isGathering) return;
  isGathering = true;
  const wait = Math.max(GATHER_MS, refreshedAt + SPACING_MS - performance.now());
  setTimeout(() => {
    isGathering = false;
    refreshedAt = performance.now();
    const paths = [...gathered];
    gathered.clear();
    void refresh(client, ...paths);
  }, wait);
}

/** The Date header has seconds, and the first response may have been read a while before it was sent. */
const READING_MS = 5000;

/** A time before anything shown was read. Null if unknown. */
function startOfReading(): string | null {
  const at = Date.parse(whenFirstReplied() ?? "");
  return Number.isNaN(at) ? null : new Date(at - READING_MS).toISOString();
}

const pause = (ms: number, signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });

/** Follows the organization's events while the page is visible. Returns a function that stops it. */
export function startLive(): () => void {
  let stop = new AbortController();
  const run = async (signal: AbortSignal) => {
    for (let failures = 0; !signal.aborted; failures++) {
      try {
        const since = hasOpened ? null : startOfReading();
        const options = {
          signal,
          lastEventId: last,
          onOpen: () => {
            // Data read before the connection was open may be outdated, unless the stream starts before it.
            if (failures > 0 || link === "lost" || (last === null && since === null))
              void client.invalidateQueries();
            failures = 0;
            hasOpened = true;
            setLink("open");
          },
        };
        for await (const { id, data } of follow(
          "GET /api/v1/events/stream",
          { query: since === null ? {} : { since } },
          options,
        )) {
          last = id ?? last;
          gather(data as AuditEvent);
          for (const reader of readers) reader(data as AuditEvent);
        }
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof ApiError && error.status === 401) return setLink("lost");
        if (error instanceof ApiError && error.status >= 400) last = null;
      }
      if (!signal.aborted) setLink("lost");
      await pause(RETRY_MS[Math.min(failures, RETRY_MS.length - 1)] ?? 10_000, signal);
    }
  };
  const onSight = () => {
    stop.abort();
    if (document.visibilityState === "hidden") return;
    stop = new AbortController();
    void run(stop.signal);
  };
  document.addEventListener("visibilitychange", onSight);
  onSight();
  return () => {
    document.removeEventListener("visibilitychange", onSight);
    stop.abort();
  };
}

const watch = (watcher: () => void) => {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
};

/** Returns the state of the connection. */
export const useLink = (): Link => useSyncExternalStore(watch, () => link);

/** Calls `reader` for each event. Returns a function that stops it. */
export function onEvent(reader: (event: AuditEvent) => void): () => void {
  readers.add(reader);
  return () => readers.delete(reader);
}

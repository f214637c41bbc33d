import { CircleCheck } from "lucide-react";
import { Link } from "wouter";
import type { Reply } from "../../calls.ts";
import { useApi } from "../../data.ts";
import { Section } from "../base/page.tsx";
import { plural } from "../base/plural.ts";
import { StatusIcon, type StatusWord } from "../base/status.tsx";
import { useNow } from "../base/time.tsx";

const HOUR_MS = 3_600_000;

interface Matter {
  key: string;
  status: StatusWord;
  text: string;
  href: string;
}

/** What a person should look at, each with where to go. */
export function Attention() {
  const now = useNow();
  const since = new Date(Math.floor(now / HOUR_MS) * HOUR_MS - 24 * HOUR_MS).toISOString();
  const failed = useApi("GET /api/v1/action-runs", { query: { statuses: ["failed"], since, limit: 1 } });
  const waiting = useApi("GET /api/v1/approvals", { query: { status: "pending" } });
  const broken = useApi("GET /api/v1/connections", { query: { status: ["error"], limit: 5 } });
  const letters = useApi("GET /api/v1/dead-letters", { query: { limit: 50 } });
  const automations = useApi("GET /api/v1/automations", { query: { status: "active", limit: 100 } });
  const stale = useStale(automations.data?.automations ?? []);
  const dead = letters.data?.items.filter(({ status }) => status === "dead").length ?? 0;
  const matters: Matter[] = [];
  const add = (count: number, matter: Omit<Matter, "text">, texts: { one: string; other: string }) => {
    if (count > 0) matters.push({ ...matter, text: plural(count, texts) });
  };
  add(
    failed.data?.total ?? 0,
    { key: "failed", status: "failed", href: "/runs?status=failed&span=24" },
    { one: "# run failed in the last 24 hours", other: "# runs failed in the last 24 hours" },
  );
  add(
    waiting.data?.total ?? 0,
    { key: "approvals", status: "waiting", href: "/approvals" },
    { one: "# approval pending", other: "# approvals pending" },
  );
  for (const { id, name, verificationError } of broken.data?.connections ?? []) {
    matters.push({
      key: id,
      status: "error",
      text: verificationError
        ? `${name}: connection failed (${verificationError})`
        : `${name}: connection failed`,
      href: `/connections/${id}`,
    });
  }
  add(
    dead,
    { key: "letters", status: "dead_letter", href: "/dead-letters" },
    letters.data?.nextCursor
      ? { one: "#+ dead letters", other: "#+ dead letters" }
      : { one: "# dead letter", other: "# dead letters" },
  );
  for (const { id, name, text } of stale.items) {
    matters.push({
      key: `stale-${id}`,
      status: "stale",
      text: `${name}: ${text}`,
      href: `/automations/${id}`,
    });
  }
  for (const { id, name, latestRun } of automations.data?.automations ?? []) {
    if (latestRun?.status === "failed")
      matters.push({
        key: id,
        status: "failed",
        text: `${name}: latest run failed`,
        href: `/automations/${id}`,
      });
  }
  const parts = [failed, waiting, broken, letters, automations, stale.query];
  const isLoading = parts.some(({ isPending }) => isPending);
  const isPartial = parts.some(({ isError }) => isError);
  return (
    <Section title="Needs attention" flush={matters.length > 0}>
      {matters.length > 0 ? (
        <ul>
          {matters.map(({ key, status, text, href }) => (
            <li key={key} className="border-t border-line first:border-t-0">
              <Link href={href} className="flex items-center gap-3 px-4 py-2.5 text-sm hover:bg-sunken/60">
                <StatusIcon status={status} />
                <span className="min-w-0 truncate">{text}</span>
              </Link>
            </li>
          ))}
        </ul>
      ) : (
        <p className="flex items-center gap-2 text-sm text-soft">
          {isLoading ? (
            "Loading…"
          ) : isPartial ? (
            "Some items couldn't be loaded."
          ) : (
            <>
              <CircleCheck size={15} className="text-good" aria-hidden /> Nothing needs attention
            </>
          )}
        </p>
      )}
    </Section>
  );
}

/** Days after which a notice of a stale automation is old. */
const STALE_DAYS = 7;

/** Automations that did not run or made too few rows, as their `expect` says, and have not completed since. */
function useStale(known: Reply<"GET /api/v1/automations">["automations"]) {
  const now = useNow();
  const since = new Date(Math.floor(now / HOUR_MS) * HOUR_MS - STALE_DAYS * 24 * HOUR_MS).toISOString();
  const query = useApi("GET /api/v1/events", { query: { type: "automation.stale", since, limit: 50 } });
  const items = new Map<string, { id: string; name: string; text: string }>();
  for (const { entity, timestamp, data } of query.data?.items ?? []) {
    const { name, reason } = data as { name?: string; reason?: string };
    const latest = known.find(({ id }) => id === entity.id)?.latestRun;
    const isMended = latest?.status === "completed" && (latest.completedAt ?? "") > timestamp;
    if (isMended || items.has(entity.id) || !known.some(({ id }) => id === entity.id)) continue;
    const text = reason === "silent" ? "overdue" : "fewer rows than expected";
    items.set(entity.id, { id: entity.id, name: name ?? "Unnamed automation", text });
  }
  return { query, items: [...items.values()] };
}

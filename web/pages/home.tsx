import { useQueries } from "@tanstack/react-query";
import { CircleCheck, Package } from "lucide-react";
import { useState } from "react";
import { Link, useLocation } from "wouter";
import { call } from "../api.ts";
import type { Reply } from "../calls.ts";
import { useApi, useChange, useMay, useMe } from "../data.ts";
import { type Bar, Bars } from "../parts/bars.tsx";
import { Button, LinkButton } from "../parts/button.tsx";
import { Empty, PageHead, Section, Shown } from "../parts/page.tsx";
import { RunTable } from "../parts/run-table.tsx";
import { StatusIcon } from "../parts/status.tsx";
import { counted, useNow, When } from "../parts/time.tsx";

const HOUR_MS = 3_600_000;
const BARS = 12;
const BAR_HOURS = 2;
const RECENT = 8;

export default function Home() {
  const { user, current } = useMe();
  const runs = useApi("GET /api/v1/action-runs", { query: { limit: RECENT } });
  const isNew = runs.data?.total === 0;
  return (
    <>
      <PageHead
        title={user?.firstName ? `Hello, ${user.firstName}` : "Home"}
        about={current ? `How things stand at ${current.organization.name}.` : undefined}
      />
      {isNew && <FirstSteps />}
      <Attention />
      {!isNew && (
        <>
          <OverTime />
          <div className="grid items-start gap-x-5 lg:grid-cols-3">
            <div className="lg:col-span-2">
              <Section
                title="Recent runs"
                flush
                aside={
                  <Link href="/runs" className="text-accent hover:underline">
                    All runs
                  </Link>
                }
              >
                <Shown of={runs}>{(page) => <RunTable runs={page.runs} />}</Shown>
              </Section>
            </div>
            <Schedules />
          </div>
        </>
      )}
    </>
  );
}

interface Matter {
  key: string;
  status: string;
  text: string;
  href: string;
}

/** What a person should look at, each with where to go. */
function Attention() {
  const now = useNow();
  const since = new Date(Math.floor(now / HOUR_MS) * HOUR_MS - 24 * HOUR_MS).toISOString();
  const failed = useApi("GET /api/v1/action-runs", { query: { statuses: ["failed"], since, limit: 1 } });
  const waiting = useApi("GET /api/v1/approvals", { query: { status: "pending" } });
  const broken = useApi("GET /api/v1/connections", { query: { status: ["error"], limit: 5 } });
  const letters = useApi("GET /api/v1/dead-letters", { query: { limit: 50 } });
  const automations = useApi("GET /api/v1/automations", { query: { status: "active", limit: 100 } });
  const dead = letters.data?.items.filter(({ status }) => status === "dead").length ?? 0;
  const matters: Matter[] = [];
  const add = (count: number, matter: Omit<Matter, "text">, one: string, many: string) => {
    if (count > 0) matters.push({ ...matter, text: `${counted(count)} ${count === 1 ? one : many}` });
  };
  add(
    failed.data?.total ?? 0,
    { key: "failed", status: "failed", href: "/runs?status=failed&span=24" },
    "run failed in the last day",
    "runs failed in the last day",
  );
  add(
    waiting.data?.total ?? 0,
    { key: "approvals", status: "waiting", href: "/approvals" },
    "approval waits for a decision",
    "approvals wait for a decision",
  );
  for (const { id, name, verificationError } of broken.data?.connections ?? []) {
    matters.push({
      key: id,
      status: "error",
      text: `Connection ${name}: ${verificationError ?? "could not be reached"}`,
      href: `/connections/${id}`,
    });
  }
  add(dead, { key: "letters", status: "dead_letter", href: "/automations" }, "dead letter", "dead letters");
  for (const { id, name, latestRun } of automations.data?.automations ?? []) {
    if (latestRun?.status === "failed")
      matters.push({
        key: id,
        status: "failed",
        text: `${name}: the latest run failed`,
        href: `/automations/${id}`,
      });
  }
  const parts = [failed, waiting, broken, letters, automations];
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
            "Looking …"
          ) : isPartial ? (
            "Not all of it could be loaded."
          ) : (
            <>
              <CircleCheck size={15} className="text-good" aria-hidden /> Nothing. All is well.
            </>
          )}
        </p>
      )}
    </Section>
  );
}

/** Runs of the last day by two hours, those that failed apart. */
function OverTime() {
  const now = useNow();
  const [, go] = useLocation();
  const end = Math.ceil(now / (BAR_HOURS * HOUR_MS)) * BAR_HOURS * HOUR_MS;
  const spans = Array.from({ length: BARS }, (_, at) => {
    const from = end - (BARS - at) * BAR_HOURS * HOUR_MS;
    return {
      since: new Date(from).toISOString(),
      until: new Date(from + BAR_HOURS * HOUR_MS - 1).toISOString(),
    };
  });
  const found = useQueries({
    queries: spans.flatMap(({ since, until }, at) =>
      [undefined, ["failed" as const]].map((statuses) => {
        const query = { since, until, limit: 1, ...(statuses ? { statuses } : {}) };
        return {
          queryKey: ["GET /api/v1/action-runs", { query }],
          queryFn: ({ signal }: { signal: AbortSignal }) =>
            call("GET /api/v1/action-runs", { query }, { signal }),
          ...(at < BARS - 1 ? { staleTime: HOUR_MS } : {}),
        };
      }),
    ),
  });
  const totalOf = (at: number) =>
    (found[at]?.data as Reply<"GET /api/v1/action-runs"> | undefined)?.total ?? 0;
  const bars: Bar[] = spans.map(({ since, until }, at) => ({
    since,
    until,
    good: Math.max(totalOf(at * 2) - totalOf(at * 2 + 1), 0),
    bad: totalOf(at * 2 + 1),
  }));
  const all = bars.reduce((sum, { good, bad }) => sum + good + bad, 0);
  return (
    <Section title="Runs, last 24 hours" aside={<span className="tabular-nums">{counted(all)} in all</span>}>
      <Bars bars={bars} onPick={({ since, until }) => go(`/runs?since=${since}&until=${until}`)} />
    </Section>
  );
}

function Schedules() {
  const automations = useApi("GET /api/v1/automations", {
    query: { trigger_type: "schedule", status: "active", limit: 100 },
  });
  const next = (automations.data?.automations ?? [])
    .filter(({ nextRunAt }) => nextRunAt !== null)
    .sort((a, b) => (a.nextRunAt ?? "").localeCompare(b.nextRunAt ?? ""))
    .slice(0, 6);
  return (
    <Section title="Next schedules" flush={next.length > 0}>
      {next.length === 0 ? (
        <p className="text-sm text-soft">Nothing is scheduled.</p>
      ) : (
        <ul>
          {next.map(({ id, name, nextRunAt }) => (
            <li key={id} className="border-t border-line first:border-t-0">
              <Link
                href={`/automations/${id}`}
                className="flex justify-between gap-3 px-4 py-2 text-sm hover:bg-sunken/60"
              >
                <span className="truncate">{name}</span>
                <span className="text-soft">
                  <When at={nextRunAt} />
                </span>
              </Link>
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

const QUICK_START = "quick-start";

/** What to do in an organization where nothing has run. */
function FirstSteps() {
  const may = useMay("member");
  const [, go] = useLocation();
  const [isInstalled, setInstalled] = useState(false);
  const bundles = useApi("GET /api/v1/bundles", { query: { limit: 50 } }, { isFixed: true });
  const install = useChange("POST /api/v1/bundles/{slug}/install", {
    touches: ["/api/v1"],
    done: ({ components }) => `Installed: ${components.map(({ entityName }) => entityName).join(", ")}`,
    onDone({ components }) {
      setInstalled(true);
      const made = components.find(({ type }) => type === "automation");
      if (made) go(`/automations/${made.entityId}`);
    },
  });
  const bundle = bundles.data?.bundles.find(({ slug }) => slug === QUICK_START);
  return (
    <div className="card mb-5">
      <Empty
        icon={Package}
        title="Welcome. Nothing has run here yet."
        action={
          <>
            {bundle && (
              <Button
                kind="main"
                disabled={!may || isInstalled}
                busy={install.isPending}
                onClick={() => install.mutate({ path: { slug: bundle.slug }, body: {} })}
              >
                Install the quick start
              </Button>
            )}
            <LinkButton href="/connections/new">Connect a system</LinkButton>
            <LinkButton href="/actions/new">Create an action</LinkButton>
          </>
        }
      >
        {bundle
          ? `${bundle.description} It makes a connection, actions and an automation to look at and to change.`
          : "Connect a system, then create an action that reads from it."}
      </Empty>
    </div>
  );
}

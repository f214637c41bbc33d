import { useQueries } from "@tanstack/react-query";
import { Package } from "lucide-react";
import { Link, useLocation } from "wouter";
import { call } from "../api.ts";
import type { Reply } from "../calls.ts";
import { useApi, useMe } from "../data.ts";
import { LinkButton } from "../parts/base/button.tsx";
import { Empty, PageHead, Section, Shown } from "../parts/base/page.tsx";
import { plural } from "../parts/base/plural.ts";
import { counted, useNow, When } from "../parts/base/time.tsx";
import { Attention } from "../parts/home/attention.tsx";
import { type Bar, Bars } from "../parts/home/bars.tsx";
import { RunTable } from "../parts/runs/table.tsx";

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
        about={current?.organization.name}
      />
      {isNew && <FirstSteps />}
      <Attention />
      {!isNew && (
        <>
          <OverTime />
          <div className="grid items-start gap-x-5 lg:grid-cols-3">
            <div className="min-w-0 lg:col-span-2">
              <Section
                title="Recent runs"
                flush
                aside={
                  <Link href="/runs" className="text-accent hover:underline">
                    View all
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
  const failed = bars.reduce((sum, { bad }) => sum + bad, 0);
  const summary =
    all === 0 ? "No runs" : `${plural(all, { one: "# run", other: "# runs" })}, ${counted(failed)} failed`;
  return (
    <Section title="Runs in the last 24 hours" aside={<span className="tabular-nums">{summary}</span>}>
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
    <Section title="Upcoming runs" flush={next.length > 0}>
      {next.length === 0 ? (
        <p className="text-sm text-soft">No scheduled runs</p>
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
  const bundles = useApi("GET /api/v1/bundles", { query: { limit: 50 } }, { isFixed: true });
  const bundle = bundles.data?.bundles.find(({ slug }) => slug === QUICK_START);
  return (
    <div className="card mb-5">
      <Empty
        icon={Package}
        title="Welcome to Weir"
        action={
          <>
            {bundle && (
              <LinkButton kind="main" href={`/bundles/${bundle.slug}`}>
                Install quick start
              </LinkButton>
            )}
            <LinkButton href="/bundles">Browse bundles</LinkButton>
            <LinkButton href="/connections/new">Create connection</LinkButton>
            <LinkButton href="/actions/new">Create action</LinkButton>
          </>
        }
      >
        {bundle
          ? `${bundle.description} It installs a sample connection, actions and an automation that you can explore and edit.`
          : "Connect a database, an API or a folder, then create an action that loads data from it."}
      </Empty>
    </div>
  );
}

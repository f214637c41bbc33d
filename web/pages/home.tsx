import { Link, useLocation } from "wouter";
import type { Overview } from "../calls.ts";
import { useApi, useMe } from "../data.ts";
import { PageHead, Section, Shown } from "../parts/base/page.tsx";
import { plural } from "../parts/base/plural.ts";
import { counted, When } from "../parts/base/time.tsx";
import { Attention } from "../parts/home/attention.tsx";
import { Bars, barsOf } from "../parts/home/bars.tsx";
import { FirstSteps } from "../parts/home/first-steps.tsx";
import { RunTable } from "../parts/runs/table.tsx";
import { t } from "../texts/text.ts";

const RECENT = 8;
/** Events refresh the page, but hours pass without one. */
const REFETCH_MS = 60_000;

export default function Home() {
  const { user, current } = useMe();
  const overview = useApi("GET /api/v1/overview", {}, { refetchMs: REFETCH_MS });
  const runs = useApi("GET /api/v1/action-runs", { query: { limit: RECENT } });
  const isNew = runs.data?.total === 0;
  return (
    <>
      <PageHead
        title={user?.firstName ? t("Hello, {firstName}", { firstName: user.firstName }) : t("Home")}
        about={current?.organization.name}
      />
      {isNew && <FirstSteps />}
      <Shown of={overview} rows={3}>
        {(data) => (
          <>
            <Attention overview={data} />
            {!isNew && <OverTime overview={data} />}
          </>
        )}
      </Shown>
      {!isNew && (
        <div className="grid items-start gap-x-5 lg:grid-cols-3">
          <div className="min-w-0 lg:col-span-2">
            <Section
              title={t("Recent runs")}
              flush
              aside={
                <Link href="/runs?tab=actions" className="text-accent hover:underline">
                  {t("View all")}
                </Link>
              }
            >
              <Shown of={runs}>{(page) => <RunTable runs={page.runs} />}</Shown>
            </Section>
          </div>
          {overview.data && <Upcoming overview={overview.data} />}
        </div>
      )}
    </>
  );
}

/** Runs of the last 24 hours in steps of two hours, with failed ones separate. */
function OverTime({ overview: { timeline, actionRuns } }: { overview: Overview }) {
  const [, go] = useLocation();
  const { total, failed } = actionRuns;
  const summary =
    total === 0
      ? t("No runs")
      : t("{total}, {failed} failed", {
          total: plural(total, { one: "# run", other: "# runs" }),
          failed: counted(failed),
        });
  return (
    <Section title={t("Runs in the last 24 hours")} aside={<span className="tabular-nums">{summary}</span>}>
      <Bars
        bars={barsOf(timeline)}
        onPick={({ since, until }) => go(`/runs?tab=actions&since=${since}&until=${until}`)}
      />
    </Section>
  );
}

function Upcoming({ overview: { next, automations } }: { overview: Overview }) {
  const more = automations.scheduled - next.length;
  return (
    <Section title={t("Upcoming runs")} flush={next.length > 0}>
      {next.length === 0 ? (
        <p className="text-sm text-soft">{t("No scheduled runs")}</p>
      ) : (
        <ul>
          {next.map(({ automationId, name, nextRunAt }) => (
            <li key={automationId} className="border-t border-line first:border-t-0">
              <Link
                href={`/automations/${automationId}`}
                className="flex justify-between gap-3 px-4 py-2 text-sm hover:bg-sunken/60"
              >
                <span className="truncate" dir="auto">
                  {name}
                </span>
                <span className="text-soft">
                  <When at={nextRunAt} />
                </span>
              </Link>
            </li>
          ))}
          {more > 0 && (
            <li className="border-t border-line">
              <Link
                href="/automations?trigger=schedule&status=active"
                className="block px-4 py-2 text-sm text-accent hover:underline"
              >
                {plural(more, { one: "# more", other: "# more" })}
              </Link>
            </li>
          )}
        </ul>
      )}
    </Section>
  );
}

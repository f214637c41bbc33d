import { Link } from "wouter";
import type { Run } from "../../calls.ts";
import { useApi } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { useActionKinds } from "../base/action-kinds.ts";
import { Section } from "../base/page.tsx";
import { plural } from "../base/plural.ts";
import { StatusIcon } from "../base/status.tsx";
import { When } from "../base/time.tsx";
import { runName } from "./names.ts";
import { type ChainRun, useChainRuns, useRunTrail } from "./trail.ts";

/** Number of runs to list. The audit log has all. */
const MOST_SHOWN = 30;

/** Related runs: those before it, those that it started, and its manual retries. */
export function RunChain({ run }: { run: Run }) {
  const { correlationId } = useRunTrail(run);
  const runs = useChainRuns(correlationId, run.status);
  const kinds = useActionKinds();
  const siblings = useApi(
    "GET /api/v1/action-runs",
    { query: { automation_run_id: run.automationRunId ?? "", limit: MOST_SHOWN } },
    { enabled: run.automationRunId !== null },
  );
  if (correlationId === null) return null;
  const titleOf = (kind: string) => kinds.data?.kinds.find((each) => each.kind === kind)?.title ?? kind;
  const names = new Map([run, ...(siblings.data?.runs ?? [])].map((each) => [each.id, each]));
  const nameOf = ({ id, kind }: ChainRun) => {
    if (kind === null) return (id === run.automationRunId && run.automationName) || t("Automation");
    const known = names.get(id);
    return known ? runName(known, titleOf(kind)) : titleOf(kind);
  };
  return (
    <Section
      title={t("Related runs")}
      flush
      aside={
        <Link
          href={`/events?correlationId=${encodeURIComponent(correlationId)}`}
          className="text-accent hover:underline"
        >
          {t("View all events")}
        </Link>
      }
    >
      <ol className="text-sm">
        {runs.slice(0, MOST_SHOWN).map((each) => (
          <li
            key={each.id}
            className={`flex h-9 items-center gap-3 border-t border-line px-4 first:border-t-0 ${each.id === run.id ? "bg-accent-soft" : ""}`}
          >
            <StatusIcon status={each.status} />
            {each.id === run.id ? (
              <span className="truncate font-medium">{t("{name} (this run)", { name: nameOf(each) })}</span>
            ) : (
              <Link
                href={each.href}
                className="truncate font-medium hover:text-accent hover:underline"
                dir="auto"
              >
                {nameOf(each)}
              </Link>
            )}
            <code className="font-mono text-xs text-faint max-sm:hidden">{each.id.slice(-12)}</code>
            <span className="ml-auto text-xs text-soft">
              <When at={each.since} />
            </span>
          </li>
        ))}
      </ol>
      {runs.length > MOST_SHOWN && (
        <p className="border-t border-line px-4 py-2 text-xs text-soft">
          {plural(runs.length - MOST_SHOWN, {
            one: "# more in the audit log",
            other: "# more in the audit log",
          })}
        </p>
      )}
    </Section>
  );
}

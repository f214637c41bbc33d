import { Link } from "wouter";
import type { Run } from "../../calls.ts";
import { t } from "../../texts/text.ts";
import { useActionKinds } from "../base/action-kinds.ts";
import { Section } from "../base/page.tsx";
import { plural } from "../base/plural.ts";
import { StatusIcon } from "../base/status.tsx";
import { When } from "../base/time.tsx";
import { useChainRuns, useRunTrail } from "./trail.ts";

/** Number of runs to list. The audit log has all. */
const MOST_SHOWN = 30;

/** Related runs: those before it, those that it started, and its manual retries. */
export function RunChain({ run }: { run: Run }) {
  const { correlationId } = useRunTrail(run);
  const runs = useChainRuns(correlationId, run.status);
  const kinds = useActionKinds();
  if (correlationId === null) return null;
  const titleOf = (name: string) =>
    name === "automation"
      ? t("Automation")
      : (kinds.data?.kinds.find(({ kind }) => kind === name)?.title ?? name);
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
        {runs.slice(0, MOST_SHOWN).map(({ id, href, name, status, since }) => (
          <li
            key={id}
            className={`flex h-9 items-center gap-3 border-t border-line px-4 first:border-t-0 ${id === run.id ? "bg-accent-soft" : ""}`}
          >
            <StatusIcon status={status} />
            {id === run.id ? (
              <span className="font-medium">{t("{name} (this run)", { name: titleOf(name) })}</span>
            ) : (
              <Link href={href} className="font-medium hover:text-accent hover:underline">
                {titleOf(name)}
              </Link>
            )}
            <code className="font-mono text-xs text-faint">{id.slice(-12)}</code>
            <span className="ml-auto text-xs text-soft">
              <When at={since} />
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

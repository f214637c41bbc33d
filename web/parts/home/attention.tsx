import { CircleCheck } from "lucide-react";
import { Link } from "wouter";
import type { Overview } from "../../calls.ts";
import { serverSentence, t } from "../../texts/text.ts";
import { Section } from "../base/page.tsx";
import { plural } from "../base/plural.ts";
import { StatusIcon, type StatusWord } from "../base/status.tsx";

interface Matter {
  key: string;
  status: StatusWord;
  text: string;
  href: string;
}

const LATE: Readonly<Record<Overview["late"][number]["reason"], string>> = {
  silent: "overdue",
  late: "overdue",
  empty: t("fewer rows than expected"),
};

function mattersOf(overview: Overview): Matter[] {
  const { actionRuns, since, pendingApprovals, deadLetters, automations, connectionErrors } = overview;
  const { failing, late, failingConnections } = overview;
  const counts: readonly (Omit<Matter, "text"> & { count: number; one: string; other: string })[] = [
    {
      key: "failed",
      status: "failed",
      href: `/runs?tab=actions&status=failed&since=${since}`,
      count: actionRuns.failed,
      one: "# run failed in the last 24 hours",
      other: "# runs failed in the last 24 hours",
    },
    {
      key: "approvals",
      status: "waiting",
      href: "/approvals",
      count: pendingApprovals,
      one: "# approval pending",
      other: "# approvals pending",
    },
    {
      key: "letters",
      status: "dead_letter",
      href: "/dead-letters",
      count: deadLetters,
      one: "# dead letter",
      other: "# dead letters",
    },
  ];
  const rests: typeof counts = [
    {
      key: "more-failing",
      status: "failed",
      href: "/runs?status=failed",
      count: automations.failing - failing.length,
      one: "Latest run failed of # more automation",
      other: "Latest run failed of # more automations",
    },
    {
      key: "more-late",
      status: "stale",
      href: "/automations?status=active",
      count: automations.late - late.length,
      one: "# more automation overdue",
      other: "# more automations overdue",
    },
    {
      key: "more-connections",
      status: "error",
      href: "/connections?status=error",
      count: connectionErrors - failingConnections.length,
      one: "# more connection failed",
      other: "# more connections failed",
    },
  ];
  const counted = (matters: typeof counts): Matter[] =>
    matters
      .filter(({ count }) => count > 0)
      .map(({ count, one, other, ...matter }) => ({ ...matter, text: plural(count, { one, other }) }));
  return [
    ...counted(counts),
    ...failingConnections.map(
      ({ id, name, verificationError }): Matter => ({
        key: id,
        status: "error",
        text: verificationError
          ? t("{name}: connection failed ({verificationError})", {
              name,
              verificationError: serverSentence(verificationError),
            })
          : t("{name}: connection failed", { name }),
        href: `/connections/${id}`,
      }),
    ),
    ...late.map(
      ({ automationId, name, reason }): Matter => ({
        key: `late-${automationId}`,
        status: "stale",
        text: `${name}: ${LATE[reason]}`,
        href: `/automations/${automationId}`,
      }),
    ),
    ...failing.map(
      ({ automationId, name, runId, message }): Matter => ({
        key: automationId,
        status: "failed",
        text: message
          ? t("{name}: latest run failed ({message})", { name, message: firstLine(message) })
          : t("{name}: latest run failed", { name }),
        href: `/automation-runs/${runId}`,
      }),
    ),
    ...counted(rests),
  ];
}

/** Further lines of a SQL error show the statement. */
const firstLine = (message: string) => message.split("\n")[0] ?? message;

/** What needs attention, with links. */
export function Attention({ overview }: { overview: Overview }) {
  const matters = mattersOf(overview);
  return (
    <Section title={t("Needs attention")} flush={matters.length > 0}>
      {matters.length > 0 ? (
        <ul className="max-h-96 overflow-y-auto">
          {matters.map(({ key, status, text, href }) => (
            <li key={key} className="border-t border-line first:border-t-0">
              <Link href={href} className="flex items-center gap-3 px-4 py-2.5 text-sm hover:bg-sunken/60">
                <StatusIcon status={status} />
                <span className="min-w-0 truncate" dir="auto" title={text}>
                  {text}
                </span>
              </Link>
            </li>
          ))}
        </ul>
      ) : (
        <p className="flex items-center gap-2 text-sm text-soft">
          <CircleCheck size={15} className="text-good" aria-hidden /> {t("Nothing needs attention")}
        </p>
      )}
    </Section>
  );
}

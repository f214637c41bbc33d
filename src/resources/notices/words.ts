import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { type LetterContent, oneLine } from "../../mail/letter.ts";
import type { Translate } from "../../mail/texts.ts";
import { linkIn } from "../organizations/link.ts";
import type { Question } from "./approvals.ts";
import { MAX_DECISIONS } from "./put.ts";
import type { NoticeRow } from "./table.ts";

interface Organization {
  id: string;
  name: string;
}

/** Text of a notice for people. Names and messages in it are external input. */
export function contentOf(
  row: NoticeRow,
  organization: Organization,
  baseUrl: string,
  translate: Translate,
): LetterContent {
  const { automation, facts } = readFacts(row);
  const name = oneLine(automation.name);
  const linkTo = (path: string) => linkIn(organization.id, `${baseUrl}/${path}`);
  const of = [[translate("Organization"), organization.name] as const];
  const foot = [
    row.userId === null
      ? translate(
          'The alert settings of "{name}" define the recipients. Change them on the automation\'s page.',
          { name },
        )
      : translate("To choose what is emailed to you, open Access, Notices."),
  ];
  const since = facts.recoveredAt
    ? [translate("A later run completed at {time}.", { time: time(facts.recoveredAt) })]
    : [];
  switch (row.kind) {
    case "automation.failed": {
      const last = isObject(facts.lastFailure ?? null) ? (facts.lastFailure as JsonObject) : {};
      const { count } = row;
      return {
        subject:
          count === 1
            ? translate("{name} failed", { name })
            : translate("{name} failed {count} times", { name, count }),
        lines: [
          count === 1
            ? translate('The automation "{name}" failed.', { name })
            : translate('The automation "{name}" failed {count} times.', { name, count }),
          ...since,
        ],
        facts: [
          ...of,
          ...(count === 1 ? [] : [[translate("First failure"), time(facts.since)] as const]),
          [count === 1 ? translate("Failed") : translate("Last failure"), time(last.failedAt)],
          [translate("Error"), `${text(last.message)} (${text(last.code)})`],
        ],
        link: {
          label: translate("Open the run"),
          url: linkTo(`automation-runs/${text(last.automationRunId)}`),
        },
        foot,
      };
    }
    case "automation.recovered":
      return {
        subject: translate("{name} completed again", { name }),
        lines: [translate('The automation "{name}" has recovered: a run completed.', { name })],
        facts: [
          ...of,
          [translate("In trouble since"), time(facts.since)],
          [translate("Completed"), time(facts.recoveredAt)],
        ],
        link: {
          label: translate("Open the run"),
          url: linkTo(`automation-runs/${text(facts.automationRunId)}`),
        },
        foot,
      };
    default:
      return {
        subject: translate("{name} is late", { name }),
        lines: [
          facts.dueAt
            ? translate('The automation "{name}" was to start at {time}, and has not.', {
                name,
                time: time(facts.dueAt),
              })
            : translate('No run of the automation "{name}" has completed for {seconds} seconds.', {
                name,
                seconds: text(facts.lateAfterSeconds),
              }),
          ...since,
        ],
        facts: [
          ...of,
          [
            translate("Last completed"),
            facts.lastCompletedAt ? time(facts.lastCompletedAt) : translate("not since this is watched"),
          ],
        ],
        link: { label: translate("Open the automation"), url: linkTo(`automations/${automation.id}`) },
        foot,
      };
  }
}

const MAX_TITLES = 10;

/** Text of a notice about pending approvals. */
export function approvalContent(
  questions: readonly Question[],
  {
    count,
    organization,
    automation,
  }: { count: number; organization: Organization; automation: string | null },
  baseUrl: string,
  translate: Translate,
): LetterContent {
  const [first] = questions;
  const of = [
    [translate("Organization"), organization.name] as const,
    ...(automation === null ? [] : [[translate("Automation"), automation] as const]),
  ];
  const foot = [
    translate("Only people with the right to decide can, after they have signed in."),
    translate("To choose what is emailed to you, open Access, Notices."),
  ];
  if (first && questions.length === 1)
    return {
      subject: translate("Approval: {title}", { title: first.title }),
      lines: [
        translate('"{title}" waits for your decision.', { title: first.title }),
        ...(first.description ? [first.description] : []),
      ],
      facts: [
        ...of,
        [translate("Asked"), time(first.requestedAt)],
        ...(first.expiresAt ? [[translate("Expires"), time(first.expiresAt)] as const] : []),
      ],
      link: {
        label: translate("Open the approval"),
        url: linkIn(organization.id, `${baseUrl}/approvals/${first.id}`),
      },
      foot,
    };
  const titles = questions.slice(0, MAX_TITLES).map(({ title }) => title);
  const number = count > MAX_DECISIONS ? count : questions.length; // The others are only counted.
  return {
    subject: translate("{number} approvals wait for your decision", { number }),
    lines: [translate("{number} approvals wait for your decision, among them:", { number }), ...titles],
    facts: of,
    link: { label: translate("Open the approvals"), url: linkIn(organization.id, `${baseUrl}/approvals`) },
    foot,
  };
}

/** Payload for machines, the same at each attempt. */
export function bodyOf({ id, kind, createdAt, organizationId, facts, count }: NoticeRow): string {
  const failures = kind === "automation.failed" ? { failures: count } : {};
  return JSON.stringify({ id, type: kind, timestamp: createdAt, organizationId, ...facts, ...failures });
}

function readFacts({ facts }: NoticeRow) {
  const automation = isObject(facts.automation ?? null) ? (facts.automation as JsonObject) : {};
  return { automation: { id: text(automation.id), name: text(automation.name) }, facts };
}

const text = (value: Json | undefined): string =>
  typeof value === "string" || typeof value === "number" ? String(value) : "";

/** `2026-01-31 08:00 UTC` */
const time = (value: Json | undefined): string => `${text(value).slice(0, 16).replace("T", " ")} UTC`;

import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { type LetterContent, oneLine } from "../../mail/letter.ts";
import type { Question } from "./approvals.ts";
import { MAX_DECISIONS } from "./put.ts";
import type { NoticeRow } from "./table.ts";

interface Organization {
  id: string;
  name: string;
}

/** Opens in the organization that it is about, whichever one the reader looked at last. */
const linkIn = ({ id }: Organization, page: string): string => `${page}?organization=${id}`;

/** Text of a notice for people. Names and messages in it come from others. */
export function contentOf(row: NoticeRow, organization: Organization, baseUrl: string): LetterContent {
  const { automation, facts } = readFacts(row);
  const name = oneLine(automation.name);
  const linkTo = (path: string) => linkIn(organization, `${baseUrl}/${path}`);
  const of = [["Organization", organization.name] as const];
  const foot = [
    row.userId === null
      ? `The alert settings of "${name}" define the recipients. Change them on the automation's page.`
      : CHOOSE,
  ];
  switch (row.kind) {
    case "automation.failed": {
      const last = isObject(facts.lastFailure ?? null) ? (facts.lastFailure as JsonObject) : {};
      const times = row.count === 1 ? "failed" : `failed ${row.count} times`;
      return {
        subject: `${name} ${times}`,
        lines: [
          `The automation "${name}" ${times}.`,
          ...(facts.recoveredAt ? [`A run has completed since, at ${time(facts.recoveredAt)}.`] : []),
        ],
        facts: [
          ...of,
          ...(row.count === 1 ? [] : [["First failure", time(facts.since)] as const]),
          [row.count === 1 ? "Failed" : "Last failure", time(last.failedAt)],
          ["Error", `${text(last.message)} (${text(last.code)})`],
        ],
        link: { label: "Open the run", url: linkTo(`automation-runs/${text(last.automationRunId)}`) },
        foot,
      };
    }
    case "automation.recovered":
      return {
        subject: `${name} completed again`,
        lines: [`The automation "${name}" has recovered: a run completed.`],
        facts: [...of, ["In trouble since", time(facts.since)], ["Completed", time(facts.recoveredAt)]],
        link: { label: "Open the run", url: linkTo(`automation-runs/${text(facts.automationRunId)}`) },
        foot,
      };
    default:
      return {
        subject: `${name} is late`,
        lines: [
          facts.dueAt
            ? `The automation "${name}" was to start at ${time(facts.dueAt)}, and has not.`
            : `No run of the automation "${name}" has completed for ${text(facts.lateAfterSeconds)} seconds.`,
          ...(facts.recoveredAt ? [`A run has completed since, at ${time(facts.recoveredAt)}.`] : []),
        ],
        facts: [
          ...of,
          [
            "Last completed",
            facts.lastCompletedAt ? time(facts.lastCompletedAt) : "not since this is watched",
          ],
        ],
        link: { label: "Open the automation", url: linkTo(`automations/${automation.id}`) },
        foot,
      };
  }
}

const CHOOSE = "Under Access, Notices you choose what is mailed to you.";
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
): LetterContent {
  const [first] = questions;
  const of = [
    ["Organization", organization.name] as const,
    ...(automation === null ? [] : [["Automation", automation] as const]),
  ];
  const foot = ["Only people with the right to decide can, after they have signed in.", CHOOSE];
  if (first && questions.length === 1)
    return {
      subject: `Approval: ${first.title}`,
      lines: [`"${first.title}" waits for your decision.`, ...(first.description ? [first.description] : [])],
      facts: [
        ...of,
        ["Asked", time(first.requestedAt)],
        ...(first.expiresAt ? [["Expires", time(first.expiresAt)] as const] : []),
      ],
      link: { label: "Open the approval", url: linkIn(organization, `${baseUrl}/approvals/${first.id}`) },
      foot,
    };
  const titles = questions.slice(0, MAX_TITLES).map(({ title }) => title);
  const number = count > MAX_DECISIONS ? count : questions.length; // those beyond are only counted
  return {
    subject: `${number} approvals wait for your decision`,
    lines: [`${number} approvals wait for your decision, among them:`, ...titles],
    facts: of,
    link: { label: "Open the approvals", url: linkIn(organization, `${baseUrl}/approvals`) },
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

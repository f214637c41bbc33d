import { and, eq, inArray } from "drizzle-orm";
import { maskSecrets } from "../../base/mask.ts";
import type { App, WriteContext } from "../../context.ts";
import type { ReadDb } from "../../store/store.ts";
import { NO_MAIL_SERVER } from "../automations/wire-warnings.ts";
import { type DecisionRow, decisions } from "../decisions/table.ts";
import { mayDecide, PRIVATE_TITLE } from "../decisions/wire-question.ts";
import { memberships } from "../organizations/table.ts";
import { slackLinks } from "../slack/table.ts";
import { users } from "../users/table.ts";
import { putGrouped } from "./put.ts";
import { isSame } from "./recipients.ts";
import { type NoticeRow, noticePreferences, type Recipient } from "./table.ts";

/** Queues a notice of an open decision for everyone who may decide, except `except`. */
export async function noticeApproval(
  tx: WriteContext,
  decision: DecisionRow,
  except: ReadonlySet<string>,
): Promise<void> {
  const { id, automationId } = decision;
  const deciders = await decidersOf(tx, tx.db, decision);
  const others = deciders.filter(
    ({ userId, channel }) => !except.has(userId ?? "") && !(channel === "mail" && tx.mailer === null),
  );
  if (tx.mailer === null && deciders.length > 0)
    tx.afterCommit(() =>
      tx.log.write("info", "approval not mailed", { decisionId: id, reason: NO_MAIL_SERVER }),
    );
  const facts = { decisions: [id] };
  await putGrouped(tx, automationId ?? "", others, { kind: "approval.open", automationId, facts });
}

/**
 * Returns who is notified of a pending decision: the assignee, otherwise every member who can decide, by their
 * preferences. Approvals of a private chat are sent only to an assignee other than its user.
 */
async function decidersOf(
  { slack: { botToken } }: App,
  db: ReadDb,
  { organizationId, assignedTo, privateTo }: DecisionRow,
): Promise<Recipient[]> {
  if (privateTo !== null && (assignedTo === null || assignedTo === privateTo)) return [];
  const people = await db
    .select({
      id: users.id,
      email: users.email,
      role: memberships.role,
      preference: noticePreferences.approvals,
      slackUserId: slackLinks.slackUserId,
    })
    .from(memberships)
    .innerJoin(users, eq(users.id, memberships.userId))
    .leftJoin(noticePreferences, eq(noticePreferences.userId, users.id))
    .leftJoin(slackLinks, and(eq(slackLinks.userId, users.id), eq(slackLinks.organizationId, organizationId)))
    .where(
      and(
        eq(memberships.organizationId, organizationId),
        assignedTo === null ? undefined : eq(users.id, assignedTo),
      ),
    );
  const wanted = people.filter(
    ({ id, role, preference }) =>
      mayDecide({ actor: { id }, role }, { assignedTo }) &&
      (assignedTo === null ? (preference ?? "all") === "all" : preference !== "none"),
  );
  const recipients = wanted.flatMap(({ id: userId, email, slackUserId }): Recipient[] => [
    { channel: "mail", target: email, userId },
    ...(slackUserId === null || botToken === null
      ? []
      : [{ channel: "slack_person" as const, target: slackUserId, userId }]),
  ]);
  return recipients.filter((one, at) => recipients.findIndex((other) => isSame(one, other)) === at);
}

/** The question of an open decision, as a notice shows it. */
export interface Question {
  id: string;
  title: string;
  description: string | null;
  requestedAt: string;
  expiresAt: string | null;
}

/** Returns the decisions of a notice that are still open and that the recipient can decide. */
export async function openQuestions(app: App, { facts, ...to }: NoticeRow): Promise<Question[]> {
  const ids = (Array.isArray(facts.decisions) ? facts.decisions : []).map(String);
  const rows = await app.store.db
    .select()
    .from(decisions)
    .where(and(inArray(decisions.id, ids), eq(decisions.status, "pending")))
    .orderBy(decisions.id);
  const questions: Question[] = [];
  for (const row of rows) {
    if (!(await decidersOf(app, app.store.db, row)).some((one) => isSame(one, to))) continue;
    const { id, createdAt: requestedAt, expiresAt } = row;
    const isPrivate = row.privateTo !== null;
    questions.push({
      id,
      title: isPrivate ? PRIVATE_TITLE : String(maskSecrets(row.title)),
      description: isPrivate || row.description === null ? null : String(maskSecrets(row.description)),
      requestedAt,
      expiresAt,
    });
  }
  return questions;
}

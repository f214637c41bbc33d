import { type Static, Type } from "@sinclair/typebox";
import {
  cursorQuery,
  described,
  instant,
  nullable,
  object,
  oneOf,
  optional,
  uuid,
} from "../../base/shape.ts";
import type { App } from "../../context.ts";
import { NO_MAIL_SERVER } from "../automations/wire-warnings.ts";
import {
  APPROVAL_PREFERENCES,
  FAILURE_PREFERENCES,
  NOTICE_CHANNELS,
  NOTICE_KINDS,
  type NoticeRow,
  type NoticePreferences as Preferences,
} from "./table.ts";

const approvals = described(
  "Which pending approvals to email: all that you can decide, those assigned to you, or none",
  oneOf(APPROVAL_PREFERENCES),
);
const failures = described(
  "Which alerts to email: those addressed to you, which includes alerts without recipients of automations you created; those of all automations; or none",
  oneOf(FAILURE_PREFERENCES),
);

export const NoticePreferences = object({
  approvals,
  failures,
  warnings: optional(
    Type.Array(Type.String(), { description: "Why nothing is emailed. Omitted if emails are sent." }),
  ),
});

export const NoticePreferencesPatch = object({
  approvals: optional(approvals),
  failures: optional(failures),
});
export type NoticePreferencesPatch = Static<typeof NoticePreferencesPatch>;

export const toPreferences = (
  { mailer }: App,
  { approvals, failures }: Preferences,
): Static<typeof NoticePreferences> => ({
  approvals,
  failures,
  ...(mailer === null ? { warnings: [`Nothing is mailed. ${NO_MAIL_SERVER}`] } : {}),
});

export const examplePreferences: Static<typeof NoticePreferences> = { approvals: "all", failures: "mine" };

const Notice = object({
  id: uuid(),
  kind: oneOf(NOTICE_KINDS),
  channel: oneOf(NOTICE_CHANNELS),
  target: described("Recipient. The URL of a Slack webhook is without its last part", Type.String()),
  automationId: nullable(uuid()),
  dashboardId: nullable(described("ID of the emailed dashboard", uuid())),
  count: Type.Integer({ description: "Number of occurrences" }),
  status: oneOf(["pending", "sent", "unsent"]),
  attempts: Type.Integer(),
  error: nullable(Type.String({ description: "Why the notice wasn't sent, or not yet" })),
  createdAt: instant(),
  dueAt: nullable(instant()),
  sentAt: nullable(instant()),
});

export const NoticeQuery = object({ automation_id: optional(uuid()), ...cursorQuery(50) });
export type NoticeQuery = Static<typeof NoticeQuery>;

export const NoticePage = object({ items: Type.Array(Notice), nextCursor: optional(Type.String()) });

export const toNotice = (row: NoticeRow): Static<typeof Notice> => ({
  id: row.id,
  kind: row.kind,
  channel: row.channel,
  target: row.target,
  automationId: row.automationId,
  dashboardId: typeof row.facts.dashboardId === "string" ? row.facts.dashboardId : null,
  count: row.count,
  status: row.dueAt !== null ? "pending" : row.sentAt !== null ? "sent" : "unsent",
  attempts: row.attempts,
  error: row.error,
  createdAt: row.createdAt,
  dueAt: row.dueAt,
  sentAt: row.sentAt,
});

export const exampleNotice: Static<typeof Notice> = {
  id: "01890a5d-ac96-774b-bcce-b302099a8057",
  kind: "automation.failed",
  channel: "mail",
  target: "ops@example.com",
  automationId: "01890a5d-ac96-774b-bcce-b302099a8058",
  dashboardId: null,
  count: 3,
  status: "sent",
  attempts: 1,
  error: null,
  createdAt: "2026-01-01T00:00:00.000Z",
  dueAt: null,
  sentAt: "2026-01-01T00:00:01.000Z",
};

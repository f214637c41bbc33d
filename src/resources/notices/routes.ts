import { operation } from "../../http/operation.ts";
import { findPreferences, listNotices, updatePreferences } from "./service.ts";
import {
  exampleNotice,
  examplePreferences,
  NoticePage,
  NoticePreferences,
  NoticePreferencesPatch,
  NoticeQuery,
  toNotice,
  toPreferences,
} from "./wire.ts";

const tag = "Notices";

export const noticeOperations = [
  operation({
    method: "GET",
    path: "/api/v1/notices",
    audience: "member",
    tag,
    summary: "List notices",
    description:
      "Emails and messages about automations, approvals and dashboards, newest first: recipients, times, and why one wasn't sent. Kept for 30 days.",
    query: NoticeQuery,
    response: NoticePage,
    errors: [410],
    example: { items: [exampleNotice] },
    handle: async ({ ctx, query }) => {
      const { rows, ...next } = await listNotices(ctx, query);
      return { items: rows.map(toNotice), ...next };
    },
  }),
  operation({
    method: "GET",
    path: "/api/v1/users/me/notices",
    audience: "any",
    personal: true,
    tag,
    summary: "Get your email notifications",
    response: NoticePreferences,
    example: examplePreferences,
    handle: async ({ ctx }) => toPreferences(ctx, await findPreferences(ctx.db, ctx.actor.id)),
  }),
  operation({
    method: "PATCH",
    path: "/api/v1/users/me/notices",
    audience: "any",
    personal: true,
    tag,
    summary: "Update your email notifications",
    body: NoticePreferencesPatch,
    bodyExample: { approvals: "assigned" },
    response: NoticePreferences,
    example: { ...examplePreferences, approvals: "assigned" },
    handle: async ({ ctx, body }) => toPreferences(ctx, await updatePreferences(ctx, body)),
  }),
];

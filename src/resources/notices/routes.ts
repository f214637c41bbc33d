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
    summary: "Lists notices of automations and approvals, newest first",
    description: "Who was told of what, when, and why somebody was not. Kept for 30 days.",
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
    summary: "Shows what is mailed to the person",
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
    summary: "Changes what is mailed to the person",
    body: NoticePreferencesPatch,
    bodyExample: { approvals: "assigned" },
    response: NoticePreferences,
    example: { ...examplePreferences, approvals: "assigned" },
    handle: async ({ ctx, body }) => toPreferences(ctx, await updatePreferences(ctx, body)),
  }),
];

import { Type } from "@sinclair/typebox";
import { object, uuid } from "../../base/shape.ts";
import { openOperation, operation, Reply } from "../../http/operation.ts";
import { visitorOf } from "../../http/visit.ts";
import { NO_MAIL_SERVER } from "../automations/wire-warnings.ts";
import { usersById } from "../users/people.ts";
import {
  createSubscription,
  deleteSubscription,
  findSubscription,
  listSubscriptions,
  sendDashboard,
  updateSubscription,
} from "./service.ts";
import { unsubscribe } from "./unsubscribe.ts";
import {
  DashboardSend,
  DashboardSending,
  DashboardSubscription,
  DashboardSubscriptions,
  exampleSubscription,
  SubscriptionCreate,
  SubscriptionPatch,
  toSubscription,
} from "./wire.ts";

const tag = "Dashboards";
const path = "/api/v1/dashboards/{dashboard_id}/subscriptions";
const onePath = `${path}/{subscription_id}` as const;
const params = object({ dashboard_id: uuid() });
const oneParams = object({ dashboard_id: uuid(), subscription_id: uuid() });
const example = exampleSubscription;
const { schedule, recipients, filters } = exampleSubscription;

export const subscriptionOperations = [
  openOperation({
    method: "POST",
    path: "/unsubscribe",
    audience: "public",
    limited: "address",
    tag,
    summary: "Unsubscribe from a dashboard's emails",
    description:
      "What the link in a scheduled email calls, and mail programs by its `List-Unsubscribe` header (RFC 8058). Needs no sign-in. The reply is the same for people who no longer get emails.",
    consumes: "application/x-www-form-urlencoded",
    bodyExample: { "List-Unsubscribe": "One-Click" },
    query: object({ token: Type.String({ maxLength: 500, description: "From the link" }) }),
    status: 204,
    errors: [404],
    async handle({ app, query, visit }) {
      await unsubscribe(app, query.token, visitorOf(visit));
      return new Reply(204, null);
    },
  }),
  operation({
    method: "POST",
    path: "/api/v1/dashboards/{dashboard_id}/send",
    audience: "member",
    tag,
    summary: "Email a dashboard",
    description:
      "Queues one email per recipient, with the panels' numbers and tables and a link. `GET /api/v1/notices` shows what became of each; `dashboard.sent` and `dashboard.send_failed` are its events.",
    params,
    body: DashboardSend,
    bodyExample: { recipients },
    status: 202,
    response: DashboardSending,
    idempotent: "batched",
    errors: [409],
    example: { recipients: 1 },
    handle: async ({ ctx, params, body }) => ({
      recipients: await sendDashboard(ctx, params.dashboard_id, body),
    }),
  }),
  operation({
    method: "GET",
    path,
    audience: "viewer",
    tag,
    summary: "List a dashboard's subscriptions",
    params,
    response: DashboardSubscriptions,
    example: { subscriptions: [example], users: {} },
    async handle({ app, ctx, params }) {
      const rows = await listSubscriptions(ctx, params.dashboard_id);
      return {
        subscriptions: rows.map(toSubscription),
        users: await usersById(
          ctx,
          rows.flatMap((row) => [row.createdBy, row.updatedBy, ...row.recipients]),
        ),
        ...(app.mailer === null ? { warnings: [`Nothing is emailed. ${NO_MAIL_SERVER}`] } : {}),
      };
    },
  }),
  operation({
    method: "POST",
    path,
    audience: "member",
    tag,
    summary: "Email a dashboard on a schedule",
    description:
      "Each recipient gets an email at each time of the schedule, once. Times missed while no server ran are made up for by one email.",
    params,
    body: SubscriptionCreate,
    bodyExample: { schedule, recipients, filters },
    status: 201,
    response: DashboardSubscription,
    idempotent: "batched",
    errors: [409],
    example,
    handle: async ({ ctx, params, body }) =>
      toSubscription(await createSubscription(ctx, params.dashboard_id, body)),
  }),
  operation({
    method: "GET",
    path: onePath,
    audience: "viewer",
    tag,
    summary: "Get a dashboard's subscription",
    params: oneParams,
    response: DashboardSubscription,
    example,
    handle: async ({ ctx, params }) =>
      toSubscription(await findSubscription(ctx, params.dashboard_id, params.subscription_id)),
  }),
  operation({
    method: "PATCH",
    path: onePath,
    audience: "member",
    tag,
    summary: "Update a dashboard's subscription",
    params: oneParams,
    body: SubscriptionPatch,
    bodyExample: { recipients },
    response: DashboardSubscription,
    example,
    handle: async ({ ctx, params, body }) =>
      toSubscription(await updateSubscription(ctx, params.dashboard_id, params.subscription_id, body)),
  }),
  operation({
    method: "DELETE",
    path: onePath,
    audience: "member",
    tag,
    summary: "Delete a dashboard's subscription",
    params: oneParams,
    status: 204,
    handle: ({ ctx, params }) => deleteSubscription(ctx, params.dashboard_id, params.subscription_id),
  }),
];

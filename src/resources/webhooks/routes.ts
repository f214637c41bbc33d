import { object, uuid } from "../../base/shape.ts";
import { operation } from "../../http/operation.ts";
import { findWholeOutbound, listOutbound, redeliver } from "./deliveries.ts";
import { webhookFaults } from "./faults.ts";
import { testWebhook } from "./probe.ts";
import {
  createWebhook,
  deleteWebhook,
  findWebhook,
  listWebhooks,
  rotateSecret,
  updateWebhook,
} from "./service.ts";
import {
  exampleWebhook,
  NewWebhook,
  OutboundDelivery,
  OutboundDeliveryPage,
  OutboundQuery,
  SecretRotation,
  toOutbound,
  toWebhook,
  Webhook,
  WebhookPage,
  WebhookPatch,
  WebhookQuery,
  WebhookWithSecret,
  WholeOutboundDelivery,
} from "./wire.ts";

const tag = "Webhooks out";
const params = object({ webhook_id: uuid() });
const deliveryParams = object({ webhook_id: uuid(), delivery_id: uuid() });
const SECRET = "whsec_…";

export const webhookOperations = [
  operation({
    method: "GET",
    path: "/api/v1/webhooks",
    audience: "admin",
    tag,
    summary: "List webhooks",
    query: WebhookQuery,
    response: WebhookPage,
    errors: [410],
    example: { items: [exampleWebhook] },
    async handle({ ctx, query }) {
      const { rows, ...next } = await listWebhooks(ctx, query);
      return { items: rows.map(toWebhook), ...next };
    },
  }),
  operation({
    method: "POST",
    path: "/api/v1/webhooks",
    audience: "admin",
    idempotent: "sealed",
    tag,
    summary: "Create a webhook",
    description: "Subscribes a URL to events. The signing secret is returned only once.",
    body: NewWebhook,
    faults: (_, raw) => webhookFaults(raw),
    response: WebhookWithSecret,
    status: 201,
    errors: [409],
    bodyExample: { url: exampleWebhook.url, events: exampleWebhook.events },
    example: { ...exampleWebhook, secret: SECRET },
    async handle({ ctx, body }) {
      const { row, secret } = await createWebhook(ctx, body);
      return { ...toWebhook(row), secret };
    },
  }),
  operation({
    method: "GET",
    path: "/api/v1/webhooks/{webhook_id}",
    audience: "admin",
    tag,
    summary: "Get a webhook",
    params,
    response: Webhook,
    errors: [404],
    example: exampleWebhook,
    handle: async ({ ctx, params }) => toWebhook(await findWebhook(ctx, params.webhook_id)),
  }),
  operation({
    method: "PATCH",
    path: "/api/v1/webhooks/{webhook_id}",
    audience: "admin",
    tag,
    summary: "Update a webhook",
    description: "While it is disabled, events are queued. They are delivered when it is active again.",
    params,
    body: WebhookPatch,
    faults: (_, raw) => webhookFaults(raw),
    response: Webhook,
    errors: [404],
    bodyExample: { status: "active" },
    example: exampleWebhook,
    handle: async ({ ctx, params, body }) => toWebhook(await updateWebhook(ctx, params.webhook_id, body)),
  }),
  operation({
    method: "DELETE",
    path: "/api/v1/webhooks/{webhook_id}",
    audience: "admin",
    tag,
    summary: "Delete a webhook",
    description: "Its pending deliveries are deleted too.",
    params,
    status: 204,
    errors: [404],
    handle: ({ ctx, params }) => deleteWebhook(ctx, params.webhook_id),
  }),
  operation({
    method: "POST",
    path: "/api/v1/webhooks/{webhook_id}/test",
    audience: "admin",
    tag,
    summary: "Send a test event",
    description: "Delivers a `webhook.tested` event immediately and returns the result.",
    params,
    status: 201,
    response: OutboundDelivery,
    errors: [404],
    handle: async ({ ctx, params }) => toOutbound(await testWebhook(ctx, params.webhook_id)),
  }),
  operation({
    method: "POST",
    path: "/api/v1/webhooks/{webhook_id}/rotate-secret",
    audience: "admin",
    tag,
    summary: "Rotate a webhook's signing secret",
    description:
      "The new secret is returned only once, and `X-SVC-Signature` is created with it immediately. For 24 hours, `X-SVC-Signature-Previous` has the signature with the old secret, in the same form, and `webhook-signature` has both, separated by a space, the new one first: Standard Webhooks libraries accept a delivery if either is valid. If your receiver checks `X-SVC-Signature` itself, let it also accept `X-SVC-Signature-Previous` until it has the new secret. The secret that it has already changes nothing.",
    params,
    body: SecretRotation,
    bodyOptional: true,
    response: WebhookWithSecret,
    errors: [404],
    example: { ...exampleWebhook, secret: SECRET },
    async handle({ ctx, params, body }) {
      const { row, secret } = await rotateSecret(ctx, params.webhook_id, body.secret);
      return { ...toWebhook(row), secret };
    },
  }),
  operation({
    method: "GET",
    path: "/api/v1/webhooks/{webhook_id}/deliveries",
    audience: "admin",
    tag,
    summary: "List a webhook's deliveries",
    params,
    query: OutboundQuery,
    response: OutboundDeliveryPage,
    errors: [404, 410],
    handle: ({ ctx, params, query }) => listOutbound(ctx, params.webhook_id, query),
  }),
  operation({
    method: "GET",
    path: "/api/v1/webhooks/{webhook_id}/deliveries/{delivery_id}",
    audience: "admin",
    tag,
    summary: "Get a delivery",
    description: "With its payload and attempts.",
    params: deliveryParams,
    response: WholeOutboundDelivery,
    errors: [404, 410],
    handle: ({ ctx, params }) => findWholeOutbound(ctx, params.webhook_id, params.delivery_id),
  }),
  operation({
    method: "POST",
    path: "/api/v1/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver",
    audience: "admin",
    idempotent: true,
    tag,
    summary: "Redeliver an event",
    description: "With the same ID and a new signature.",
    params: deliveryParams,
    status: 201,
    response: OutboundDelivery,
    errors: [404, 409],
    handle: async ({ ctx, params }) =>
      toOutbound(await redeliver(ctx, params.webhook_id, params.delivery_id)),
  }),
];

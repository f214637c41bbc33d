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
    summary: "Lists the subscriptions to events, newest first",
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
    summary: "Subscribes an address to events; the secret that signs is shown this once",
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
    summary: "Shows a subscription",
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
    summary:
      "Changes a subscription; while it is disabled events are held, and delivered once it is active again",
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
    summary: "Ends a subscription, with all that is still to be delivered to it",
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
    summary: "Sends an event webhook.tested at once, and tells how that went",
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
    summary: "Changes the secret; for 24 hours the old one signs too. The new one is shown this once",
    description:
      "From now on `X-SVC-Signature` is made with the new secret alone. For 24 hours `X-SVC-Signature-Previous` carries the signature by the old one, in the same form, and `webhook-signature` holds both, parted by a space, the new one's first: libraries of Standard Webhooks take a delivery as genuine where either fits. A receiver that checks `X-SVC-Signature` itself and has not been given the new secret yet is to look at `X-SVC-Signature-Previous` too.",
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
    summary: "Lists a subscription's deliveries, newest first",
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
    summary: "Shows a delivery with what is sent and each try",
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
    summary: "Delivers an event once more, under the same id and signed afresh",
    params: deliveryParams,
    status: 201,
    response: OutboundDelivery,
    errors: [404, 409],
    handle: async ({ ctx, params }) =>
      toOutbound(await redeliver(ctx, params.webhook_id, params.delivery_id)),
  }),
];

import type { DeadLetterPage, DeadLetterQuery, ReplayMany } from "../../src/resources/dead-letters/wire.ts";
import type { EventFilter, EventPage, EventQuery, Verification } from "../../src/resources/events/wire.ts";
import type {
  Delivery,
  DeliveryPage,
  DeliveryQuery,
  WholeDelivery,
} from "../../src/resources/inbound/wire.ts";
import type {
  NewWebhook,
  OutboundDeliveryPage,
  OutboundDelivery as OutboundDeliveryShape,
  OutboundQuery,
  SecretRotation,
  WebhookPage,
  WebhookPatch,
  WebhookQuery,
  Webhook as WebhookShape,
  WebhookWithSecret,
  WholeOutboundDelivery,
} from "../../src/resources/webhooks/wire.ts";
import type { Asked, Nothing, Of } from "./shape.ts";

/** What came in and went out, and the audit trail. */
export interface WatchCalls {
  "GET /api/v1/webhook-deliveries": { query: Asked<typeof DeliveryQuery>; reply: Of<typeof DeliveryPage> };
  "GET /api/v1/webhook-deliveries/{delivery_id}": { reply: Of<typeof WholeDelivery> };
  "GET /api/v1/dead-letters": { query: Asked<typeof DeadLetterQuery>; reply: Of<typeof DeadLetterPage> };
  "POST /api/v1/dead-letters/replay": { body: Of<typeof ReplayMany>; reply: { replayed: number } };
  "POST /api/v1/dead-letters/{dead_letter_id}/replay": {
    reply: Of<typeof Delivery> | Of<typeof OutboundDeliveryShape>;
  };
  "DELETE /api/v1/dead-letters/{dead_letter_id}": { reply: Nothing };
  "GET /api/v1/webhooks": { query: Asked<typeof WebhookQuery>; reply: Of<typeof WebhookPage> };
  "POST /api/v1/webhooks": { body: Of<typeof NewWebhook>; reply: Of<typeof WebhookWithSecret> };
  "GET /api/v1/webhooks/{webhook_id}": { reply: Of<typeof WebhookShape> };
  "PATCH /api/v1/webhooks/{webhook_id}": { body: Of<typeof WebhookPatch>; reply: Of<typeof WebhookShape> };
  "DELETE /api/v1/webhooks/{webhook_id}": { reply: Nothing };
  "POST /api/v1/webhooks/{webhook_id}/test": { reply: Of<typeof OutboundDeliveryShape> };
  "POST /api/v1/webhooks/{webhook_id}/rotate-secret": {
    body: Of<typeof SecretRotation>;
    reply: Of<typeof WebhookWithSecret>;
  };
  "GET /api/v1/webhooks/{webhook_id}/deliveries": {
    query: Asked<typeof OutboundQuery>;
    reply: Of<typeof OutboundDeliveryPage>;
  };
  "GET /api/v1/webhooks/{webhook_id}/deliveries/{delivery_id}": { reply: Of<typeof WholeOutboundDelivery> };
  "POST /api/v1/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver": {
    reply: Of<typeof OutboundDeliveryShape>;
  };
  "GET /api/v1/events": { query: Asked<typeof EventQuery>; reply: Of<typeof EventPage> };
  "GET /api/v1/events/verify": { reply: Of<typeof Verification> };
  "GET /api/v1/events/stream": { query: Asked<typeof EventFilter>; reply: never };
}

import { type Static, Type } from "@sinclair/typebox";
import { requestObject } from "../../base/null-shape.ts";
import {
  cursorQuery,
  instant,
  jsonObject,
  nullable,
  object,
  oneOf,
  optional,
  uuid,
} from "../../base/shape.ts";
import {
  OUTBOUND_STATUSES,
  type OutboundAttemptRow,
  type OutboundRow,
  WEBHOOK_STATUSES,
  type WebhookRow,
} from "./table.ts";

const shown = {
  id: uuid(),
  url: Type.String(),
  events: Type.Array(Type.String()),
  status: oneOf(WEBHOOK_STATUSES),
  disabledReason: nullable(Type.String()),
  createdAt: instant(),
  updatedAt: instant(),
};

export const Webhook = object(shown);
export const WebhookWithSecret = object({
  ...shown,
  secret: Type.String({ description: "Returned only once, at creation." }),
});
export const WebhookPage = object({ items: Type.Array(Webhook), nextCursor: optional(Type.String()) });
export const WebhookQuery = object(cursorQuery(50, 200));

const URL_TEXT = Type.String({ minLength: 1, maxLength: 2048, description: "URL that events are sent to" });
const SECRET = Type.String({
  minLength: 16,
  maxLength: 512,
  description: "Signing secret. Default: a generated one",
});
const PATTERNS = Type.Array(Type.String({ minLength: 1, maxLength: 100 }), {
  minItems: 1,
  maxItems: 100,
  description: "Event types. action.* matches all action events, * all events",
});

export const NewWebhook = requestObject({ url: URL_TEXT, events: PATTERNS, secret: optional(SECRET) });
export type NewWebhook = Static<typeof NewWebhook>;

export const WebhookPatch = object({
  url: optional(URL_TEXT),
  events: optional(PATTERNS),
  status: optional(oneOf(WEBHOOK_STATUSES, { description: "Whether events are delivered" })),
});
export type WebhookPatch = Static<typeof WebhookPatch>;

export const SecretRotation = requestObject({ secret: optional(SECRET) });

export const toWebhook = (row: WebhookRow): Static<typeof Webhook> => ({
  id: row.id,
  url: row.url,
  events: row.events,
  status: row.status,
  disabledReason: row.disabledReason,
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
});

const delivery = {
  id: uuid(),
  webhookId: uuid(),
  eventId: uuid(),
  eventType: Type.String(),
  status: oneOf(OUTBOUND_STATUSES),
  attempts: Type.Integer(),
  replyCode: nullable(Type.Integer()),
  durationMs: nullable(Type.Integer()),
  createdAt: instant(),
  nextAttemptAt: nullable(instant()),
  completedAt: nullable(instant()),
  replayOf: nullable(uuid()),
  isTest: Type.Boolean(),
  error: nullable(jsonObject()),
};

export const OutboundDelivery = object(delivery);
export const OutboundDeliveryPage = object({
  items: Type.Array(OutboundDelivery),
  nextCursor: optional(Type.String()),
});

const OutboundAttempt = object({
  number: Type.Integer(),
  startedAt: instant(),
  durationMs: Type.Integer(),
  replyCode: nullable(Type.Integer()),
  replyExcerpt: nullable(Type.String({ description: "First KiB of the response, with secrets masked" })),
  error: nullable(jsonObject()),
});

export const WholeOutboundDelivery = object({
  ...delivery,
  payload: jsonObject({ description: "The event, as it was sent" }),
  attempts: Type.Array(OutboundAttempt),
});

export const OutboundQuery = object({
  status: optional(oneOf(OUTBOUND_STATUSES, { description: "Only deliveries with this status" })),
  ...cursorQuery(50, 200),
});
export type OutboundQuery = Static<typeof OutboundQuery>;

/** While a process has it, there is no time of a next attempt. */
export const toOutbound = (row: OutboundRow): Static<typeof OutboundDelivery> => ({
  id: row.id,
  webhookId: row.webhookId,
  eventId: row.eventId,
  eventType: row.eventType,
  status: row.status,
  attempts: row.attempts,
  replyCode: row.replyCode,
  durationMs: row.durationMs,
  createdAt: row.createdAt,
  nextAttemptAt: row.takenBy === null ? row.dueAt : null,
  completedAt: row.dueAt === null ? row.completedAt : null,
  replayOf: row.replayOf,
  isTest: row.isTest,
  error: row.error ? { ...row.error } : null,
});

/** One attempt, as the API returns it. */
export const toAttempt = ({
  deliveryId: _,
  error,
  ...attempt
}: OutboundAttemptRow): Static<typeof OutboundAttempt> => ({
  ...attempt,
  error: error ? { ...error } : null,
});

export const exampleWebhook: Static<typeof Webhook> = {
  id: "01890a5d-ac96-774b-bcce-b302099a8063",
  url: "https://example.com/weir",
  events: ["action.*", "decision.requested"],
  status: "active",
  disabledReason: null,
  createdAt: "2026-01-01T00:00:00.000Z",
  updatedAt: "2026-01-01T00:00:00.000Z",
};

import { type Static, Type } from "@sinclair/typebox";
import { maskSecrets } from "../../base/mask.ts";
import {
  anything,
  cursorQuery,
  instant,
  jsonObject,
  nullable,
  object,
  oneOf,
  optional,
  uuid,
} from "../../base/shape.ts";
import { type AttemptRow, DELIVERY_STATUSES, type DeliveryRow } from "./table.ts";

const shown = {
  id: uuid(),
  automationId: uuid(),
  automationRunId: nullable(uuid()),
  status: oneOf(DELIVERY_STATUSES),
  attempts: Type.Integer(),
  replyCode: nullable(Type.Integer()),
  receivedAt: instant(),
  nextAttemptAt: nullable(instant()),
  error: nullable(jsonObject()),
};

export const Delivery = object(shown);
export type Delivery = Static<typeof Delivery>;

const Attempt = object({
  number: Type.Integer(),
  startedAt: instant(),
  completedAt: nullable(instant()),
  replyCode: nullable(Type.Integer()),
  error: nullable(jsonObject()),
});

export const WholeDelivery = object({
  ...shown,
  headers: nullable(jsonObject()),
  query: nullable(jsonObject()),
  payload: anything(),
  attempts: Type.Array(Attempt),
});

export const DeliveryQuery = object({
  automation_id: optional(uuid()),
  status: optional(oneOf(DELIVERY_STATUSES, { description: "Only deliveries with this status" })),
  ...cursorQuery(50),
});
export type DeliveryQuery = Static<typeof DeliveryQuery>;

export const DeliveryPage = object({ items: Type.Array(Delivery), nextCursor: optional(Type.String()) });

export const toDelivery = (row: Omit<DeliveryRow, "headers" | "query" | "payload">): Delivery => ({
  id: row.id,
  automationId: row.automationId,
  automationRunId: row.automationRunId,
  status: row.status,
  attempts: row.attempts,
  replyCode: row.replyCode,
  receivedAt: row.receivedAt,
  nextAttemptAt: row.nextAttemptAt,
  error: row.error ? { ...row.error } : null,
});

/** Converts a delivery with its attempts, and its content if that is stored. */
export const toWholeDelivery = (row: DeliveryRow, attempts: readonly AttemptRow[]) => ({
  ...toDelivery(row),
  headers: row.headers === null ? null : maskSecrets(row.headers),
  query: row.query === null ? null : maskSecrets(row.query),
  payload: row.payload,
  attempts: attempts.map(({ deliveryId: _, ...attempt }) => attempt),
});

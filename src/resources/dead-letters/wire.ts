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
import type { EventType } from "../events/table.ts";
import { DEAD_LETTER_STATUSES, type DeadLetterRow } from "./table.ts";

export const DeadLetter = object({
  id: uuid(),
  source: oneOf(["inbound", "outbound"]),
  sourceId: uuid(),
  deliveryId: uuid(),
  attempts: Type.Integer(),
  firstFailedAt: instant(),
  lastFailedAt: instant(),
  error: nullable(jsonObject()),
  replayCount: Type.Integer(),
  status: oneOf(DEAD_LETTER_STATUSES),
  eventType: optional(
    Type.Unsafe<EventType>(
      Type.String({
        description: "Type of the event that an outgoing delivery carries. Omitted for incoming deliveries",
      }),
    ),
  ),
});

export const DeadLetterQuery = object({
  source: optional(
    oneOf(["inbound", "outbound"], { description: "Only deliveries of incoming or of outgoing webhooks" }),
  ),
  automation_id: optional(uuid()),
  webhook_id: optional(uuid()),
  status: optional(oneOf(DEAD_LETTER_STATUSES, { description: "Only items with this status" })),
  ...cursorQuery(50),
});
export type DeadLetterQuery = Static<typeof DeadLetterQuery>;

export const DeadLetterPage = object({ items: Type.Array(DeadLetter), nextCursor: optional(Type.String()) });

export const ReplayMany = requestObject({
  ids: optional(Type.Array(uuid(), { minItems: 1, maxItems: 1000, description: "IDs of the dead letters" })),
  automationId: optional(uuid()),
  webhookId: optional(uuid()),
});
export type ReplayMany = Static<typeof ReplayMany>;

export const toDeadLetter = (
  { organizationId: _, error, ...row }: DeadLetterRow,
  eventType: EventType | undefined,
): Static<typeof DeadLetter> => ({
  ...row,
  error: error ? { ...error } : null,
  ...(eventType === undefined ? {} : { eventType }),
});

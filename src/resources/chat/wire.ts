import { type Static, Type } from "@sinclair/typebox";
import type { JsonObject } from "../../base/json.ts";
import { requestObject } from "../../base/null-shape.ts";
import {
  cursorQuery,
  defaulted,
  instant,
  jsonObject,
  named,
  nullable,
  object,
  oneOf,
  optional,
  uuid,
} from "../../base/shape.ts";
import { type MessageRow, type ThreadRow, TURN_STATUSES } from "./table.ts";

export const Thread = object({
  id: uuid(),
  agentSpecId: uuid(),
  title: nullable(Type.String({ description: "Title. Default: from the first message" })),
  lastTurnStatus: oneOf(TURN_STATUSES),
  createdAt: instant(),
  updatedAt: instant(),
});

export const ThreadCreate = object({ agentSpecId: uuid(), title: optional(nullable(named())) });
export type ThreadCreate = Static<typeof ThreadCreate>;

export const ThreadPatch = object({ agentSpecId: optional(uuid()), title: optional(nullable(named())) });
export type ThreadPatch = Static<typeof ThreadPatch>;

export const ThreadQuery = object(cursorQuery(20));
export const ThreadPage = object({ items: Type.Array(Thread), nextCursor: optional(Type.String()) });

export const BulkDelete = object({
  all: defaulted(
    Type.Boolean({ default: false, description: "Whether to delete all of the caller's threads" }),
  ),
  threadIds: optional(nullable(Type.Array(uuid(), { maxItems: 100 }))),
});
export type BulkDelete = Static<typeof BulkDelete>;
export const BulkDeleted = object({ deletedCount: Type.Integer() });

export const Message = object({
  id: uuid(),
  threadId: uuid(),
  turnId: uuid(),
  role: oneOf(["user", "assistant"]),
  content: Type.String(),
  format: oneOf(["text", "markdown"]),
  rawData: jsonObject({
    description: "The message as a UIMessage of the AI SDK: {id, role, metadata, parts[]}",
  }),
  cancelled: Type.Boolean(),
  durationSeconds: nullable(Type.Number()),
  createdBy: nullable(uuid()),
  createdAt: instant(),
  updatedAt: instant(),
});

export const MessageQuery = object(cursorQuery(50, 200));
export const MessagePage = object({ items: Type.Array(Message), nextCursor: optional(Type.String()) });

/** Maximum length of a message. */
export const MAX_CONTENT_CHARACTERS = 100_000;

/** One of the three fields has the user's message. AI SDK clients send the rest along. */
export const TurnInput = requestObject({
  content: optional(
    Type.String({
      minLength: 1,
      maxLength: MAX_CONTENT_CHARACTERS,
      pattern: "\\S",
      description: "The message, as text",
    }),
  ),
  message: optional(
    jsonObject({ description: "A UIMessage of the AI SDK: {id, role: user, parts: [{type: text, text}]}" }),
  ),
  messages: optional(
    Type.Array(jsonObject(), {
      minItems: 1,
      maxItems: 10_000,
      description:
        "UIMessages of the AI SDK. Only the last one is used; earlier messages are read from the thread.",
    }),
  ),
  id: optional(nullable(Type.String({ maxLength: 200, description: "Accepted and ignored" }))),
  trigger: defaulted(
    oneOf(["submit-message", "regenerate-message"], {
      default: "submit-message",
      description: "Whether to send a message or to generate a reply again",
    }),
  ),
  messageId: optional(
    nullable(
      Type.String({
        maxLength: 200,
        description:
          "To regenerate: ID of the reply, or of the message that it answers. Otherwise: ID of a user's message to replace, with everything after it",
      }),
    ),
  ),
});
export type TurnInput = Static<typeof TurnInput>;

export const TurnCancel = object({
  partialText: optional(
    nullable(Type.String({ maxLength: 1_000_000, description: "Part of the reply that the user has seen" })),
  ),
});
export type TurnCancel = Static<typeof TurnCancel>;

export const toThread = (row: ThreadRow): Static<typeof Thread> => ({
  id: row.id,
  agentSpecId: row.agentSpecId,
  title: row.title,
  lastTurnStatus: row.lastTurnStatus,
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
});

export const toMessage = (row: MessageRow): Static<typeof Message> => ({
  id: row.id,
  threadId: row.threadId,
  turnId: row.turnId,
  role: row.role,
  content: row.content,
  format: row.format,
  rawData: row.rawData as unknown as JsonObject,
  cancelled: row.cancelled,
  durationSeconds: row.durationSeconds,
  createdBy: row.createdBy,
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
});

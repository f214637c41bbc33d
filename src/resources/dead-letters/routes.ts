import { Type } from "@sinclair/typebox";
import { object, uuid } from "../../base/shape.ts";
import { operation } from "../../http/operation.ts";
import { Delivery, toDelivery } from "../inbound/wire.ts";
import { replayDeadLetter } from "../replays/replay.ts";
import { replayMany } from "../replays/replay-many.ts";
import { OutboundDelivery, toOutbound } from "../webhooks/wire.ts";
import { deleteDeadLetter, listDeadLetters } from "./service.ts";
import { DeadLetterPage, DeadLetterQuery, ReplayMany } from "./wire.ts";

const tag = "Dead letters";
const params = object({ dead_letter_id: uuid() });

export const deadLetterOperations = [
  operation({
    method: "GET",
    path: "/api/v1/dead-letters",
    audience: "viewer",
    tag,
    summary: "List dead letters",
    query: DeadLetterQuery,
    response: DeadLetterPage,
    handle: ({ ctx, query }) => listDeadLetters(ctx, query),
  }),
  operation({
    method: "POST",
    path: "/api/v1/dead-letters/{dead_letter_id}/replay",
    audience: "member",
    tag,
    summary: "Replay a dead letter",
    params,
    status: 201,
    response: Type.Union([Delivery, OutboundDelivery]),
    idempotent: true,
    errors: [409, 410],
    async handle({ ctx, params }) {
      const replayed = await replayDeadLetter(ctx, params.dead_letter_id);
      return "inbound" in replayed ? toDelivery(replayed.inbound) : toOutbound(replayed.outbound);
    },
  }),
  operation({
    method: "POST",
    path: "/api/v1/dead-letters/replay",
    audience: "member",
    tag,
    summary: "Replay several dead letters",
    description: "The named ones, or all of an automation or a webhook.",
    body: ReplayMany,
    response: object({ replayed: Type.Integer() }),
    idempotent: "batched",
    errors: [409, 410],
    handle: async ({ ctx, body }) => ({ replayed: await replayMany(ctx, body) }),
  }),
  operation({
    method: "DELETE",
    path: "/api/v1/dead-letters/{dead_letter_id}",
    audience: "member",
    tag,
    summary: "Discard a dead letter",
    params,
    status: 204,
    handle: ({ ctx, params }) => deleteDeadLetter(ctx, params.dead_letter_id),
  }),
];

import { Type } from "@sinclair/typebox";
import { jsonObject, map, object, oneOf } from "../../base/shape.ts";
import { ACTION_KINDS } from "../../executors/contract.ts";
import { EVENT_TYPES } from "../events/table.ts";

export const Meta = object({
  version: Type.String(),
  limits: jsonObject({
    description:
      "Limits of the server. `model` is the language model that agents use, with its limits; null without one",
  }),
  actionKinds: Type.Array(oneOf(ACTION_KINDS)),
  providers: Type.Array(Type.String()),
  eventTypes: Type.Array(oneOf(EVENT_TYPES)),
  statuses: map(Type.Array(Type.String())),
});

import { type Static, Type } from "@sinclair/typebox";
import { described, object, uuid } from "../../base/shape.ts";

const Named = object({ id: uuid(), name: Type.String() });

export const ConnectionUses = object({
  actions: Type.Array(Named),
  automations: Type.Array(
    object({
      id: uuid(),
      name: Type.String(),
      steps: described(
        "Keys of the steps that use the connection. Empty for an automation with a single `action`",
        Type.Array(Type.String()),
      ),
    }),
  ),
  apis: Type.Array(Named),
  total: Type.Integer(),
});
export type ConnectionUses = Static<typeof ConnectionUses>;

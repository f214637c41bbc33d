import { Type } from "@sinclair/typebox";
import { described, object } from "../../base/shape.ts";

export const TagList = object({
  tags: Type.Array(
    object({
      tag: Type.String(),
      automations: described("Automations with the tag", Type.Integer()),
      actions: described("Actions with the tag", Type.Integer()),
    }),
  ),
});

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
  folders: described(
    "Folders of these tags and those above them",
    Type.Array(
      object({
        path: Type.String(),
        automations: described("Automations in the folder and below it, each once", Type.Integer()),
        actions: described("Actions in the folder and below it, each once", Type.Integer()),
      }),
    ),
  ),
});

import { type Static, Type } from "@sinclair/typebox";
import { requestObject } from "../../base/null-shape.ts";
import {
  defaulted,
  described,
  instant,
  jsonObject,
  map,
  object,
  oneOf,
  optional,
  typed,
  uuid,
} from "../../base/shape.ts";
import type { DraftRow } from "../automations/table.ts";
import { maskConfig } from "../automations/wire-definitions.ts";

export const AutomationDraft = object({
  config: jsonObject(),
  basedOn: described("Version that the draft is based on", Type.Integer()),
  changedBy: described(
    "Users who last changed or removed a step, by its key, or a setting, by `$` and its name",
    map(uuid()),
  ),
  updatedAt: instant(),
});

export const AutomationDraftPatch = object({
  config: optional(
    typed("AutomationConfigChange", jsonObject({ description: "Fields to change; null removes one" })),
  ),
  basedOn: optional(
    described(
      "Version whose changes you have seen. Default: the version that the draft is based on",
      Type.Integer({ minimum: 1 }),
    ),
  ),
});

export const AutomationDraftPublish = requestObject({
  only: optional(
    described(
      "Changes to publish, named as in `changedBy`. Default: all. The rest stays in the draft",
      Type.Array(Type.String({ minLength: 1, maxLength: 100 }), { minItems: 1, maxItems: 400 }),
    ),
  ),
});

const place = (description?: string) =>
  Type.Number({ minimum: -1_000_000, maximum: 1_000_000, ...(description ? { description } : {}) });
const id = (description: string) => Type.String({ minLength: 1, maxLength: 100, description });
const key = () => Type.String({ minLength: 1, maxLength: 100 });

/** How the canvas shows an automation. */
export const AutomationLayout = object({
  direction: defaulted(
    oneOf(["down", "right"], { default: "down", description: "Direction in which steps follow each other" }),
  ),
  positions: defaulted(
    Type.Record(Type.String(), Type.Array(place(), { minItems: 2, maxItems: 2 }), {
      description: "Positions of steps as [x, y], by step key",
      examples: [{ load: [0, 120] }],
      default: {},
    }),
  ),
  groups: defaulted(
    Type.Array(
      object({
        id: id("ID of the group, chosen by the editor"),
        title: Type.String({ maxLength: 200 }),
        steps: Type.Array(key(), { maxItems: 200, description: "Keys of the steps in the group" }),
        isCollapsed: optional(Type.Boolean({ description: "Whether the steps are hidden" })),
      }),
      { maxItems: 200, default: [], description: "Groups of steps" },
    ),
  ),
  notes: defaulted(
    Type.Array(
      object({
        id: id("ID of the note, chosen by the editor"),
        text: Type.String({ maxLength: 10_000, description: "Text of the note" }),
        near: optional(described("Key of the step that the note belongs to", key())),
        x: optional(place("Horizontal position, if the note belongs to no step")),
        y: optional(place("Vertical position, if the note belongs to no step")),
      }),
      { maxItems: 500, default: [], description: "Notes on the canvas" },
    ),
  ),
});
export type Layout = Static<typeof AutomationLayout>;

export const toDraft = ({
  config,
  basedOn,
  changedBy,
  updatedAt,
}: DraftRow): Static<typeof AutomationDraft> => ({
  config: maskConfig(config),
  basedOn,
  changedBy,
  updatedAt,
});

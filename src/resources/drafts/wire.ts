import { type Static, Type } from "@sinclair/typebox";
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
  basedOn: described("The version that it was begun from", Type.Integer()),
  changedBy: described(
    "Who changed or removed a step last, by the step's key; who a setting, by its name after `$`",
    map(uuid()),
  ),
  updatedAt: instant(),
});

export const AutomationDraftPatch = object({
  config: typed(
    "AutomationConfigChange",
    jsonObject({ description: "The fields that change; null clears one" }),
  ),
  basedOn: optional(
    described(
      "The version whose changes are taken into account; that of the draft by default",
      Type.Integer({ minimum: 1 }),
    ),
  ),
});

export const AutomationDraftPublish = object({
  only: optional(
    described(
      "Which changes are published, named as in `changedBy`; all by default. The rest stays in the draft",
      Type.Array(Type.String({ minLength: 1, maxLength: 100 }), { minItems: 1, maxItems: 400 }),
    ),
  ),
});

const place = () => Type.Number({ minimum: -1_000_000, maximum: 1_000_000 });
const id = () => Type.String({ minLength: 1, maxLength: 100 });
const key = () => Type.String({ minLength: 1, maxLength: 100 });

/** How the canvas shows an automation. */
export const AutomationLayout = object({
  direction: defaulted(oneOf(["down", "right"], { default: "down" })),
  positions: defaulted(
    Type.Record(Type.String(), Type.Array(place(), { minItems: 2, maxItems: 2 }), {
      description: "Where steps stand, by their keys",
      examples: [{ load: [0, 120] }],
      default: {},
    }),
  ),
  groups: defaulted(
    Type.Array(
      object({
        id: id(),
        title: Type.String({ maxLength: 200 }),
        steps: Type.Array(key(), { maxItems: 200 }),
        isCollapsed: optional(Type.Boolean()),
      }),
      { maxItems: 200, default: [] },
    ),
  ),
  notes: defaulted(
    Type.Array(
      object({
        id: id(),
        text: Type.String({ maxLength: 10_000 }),
        near: optional(described("The step that it belongs to", key())),
        x: optional(place()),
        y: optional(place()),
      }),
      { maxItems: 500, default: [] },
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

import { type Static, Type } from "@sinclair/typebox";
import { clearable, requestObject } from "../../base/null-shape.ts";
import {
  described,
  instant,
  jsonObject,
  named,
  nullable,
  object,
  offsetQuery,
  oneOf,
  optional,
  slug,
  typed,
  uuid,
} from "../../base/shape.ts";
import { maskTyped } from "../../base/typed-secrets.ts";
import { ACTION_KINDS } from "../../executors/contract.ts";
import { RUN_STATUSES, type RunRow } from "../runs/table.ts";
import { masked } from "../runs/wire.ts";
import { folderQuery, Tags, tagQuery } from "../tags/wire-fields.ts";
import { People } from "../users/wire.ts";
import { ACTION_STATUSES, type ActionRow } from "./table.ts";

const LatestRun = object({
  id: uuid(),
  status: oneOf(RUN_STATUSES),
  startedAt: nullable(instant()),
  completedAt: nullable(instant()),
  definition: jsonObject(),
  progress: nullable(jsonObject()),
});

export const Action = object({
  id: uuid(),
  kind: oneOf(ACTION_KINDS),
  name: Type.String(),
  slug: Type.String(),
  status: oneOf(ACTION_STATUSES),
  connectionId: nullable(uuid()),
  templateId: nullable(uuid()),
  tags: Type.Array(Type.String()),
  definition: jsonObject(),
  latestRun: nullable(LatestRun),
  createdAt: instant(),
  updatedAt: instant(),
  createdBy: nullable(Type.String()),
  updatedBy: nullable(Type.String()),
});

export const ActionCreate = typed(
  "ActionCreate",
  requestObject({
    kind: oneOf(ACTION_KINDS),
    name: typed("ActionName", described("Name that people read", named())),
    connectionId: optional(
      typed("ActionConnection", described("ID of the connection that the action uses", nullable(uuid()))),
    ),
    definition: optional(nullable(jsonObject())),
    slug: optional(
      typed(
        "ActionSlug",
        described("Name in URLs, files and commands. Default: derived from the name", nullable(slug())),
      ),
    ),
    tags: optional(Tags),
    templateId: optional(
      typed(
        "ActionTemplate",
        described("ID of the template that the action was created from", nullable(uuid())),
      ),
    ),
  }),
);
export type ActionCreate = Static<typeof ActionCreate>;

export const ActionPatch = object({
  connectionId: optional(nullable(uuid())),
  definition: optional(
    described(
      "Settings of the kind. Null removes them: the action is a draft again",
      nullable(typed("ActionDefinition", jsonObject())),
    ),
  ),
  name: optional(named()),
  slug: optional(slug()),
  tags: clearable([], Tags),
  status: optional(oneOf(ACTION_STATUSES, { description: "Whether new runs can start" })),
});
export type ActionPatch = Static<typeof ActionPatch>;

export const ActionQuery = object({
  ids: optional(Type.Array(uuid(), { maxItems: 100, description: "Only the actions with these IDs" })),
  q: optional(Type.String({ maxLength: 255 })),
  kinds: optional(Type.Array(oneOf(ACTION_KINDS), { description: "Only actions of these kinds" })),
  statuses: optional(Type.Array(oneOf(ACTION_STATUSES), { description: "Only actions with these statuses" })),
  tag: optional(tagQuery()),
  folder: optional(folderQuery()),
  sort_by: oneOf(["name", "created_at", "updated_at", "status", "kind"], { default: "created_at" }),
  order: oneOf(["asc", "desc"], { default: "desc" }),
  ...offsetQuery(100),
});
export type ActionQuery = Static<typeof ActionQuery>;

export const ActionDuplicate = requestObject({
  name: optional(described("Name of the copy. Default: the original's name with (copy)", named())),
});

export const ActionPage = object({
  actions: Type.Array(Action),
  hasNext: Type.Boolean(),
  limit: Type.Integer(),
  offset: Type.Integer(),
  total: Type.Integer(),
  users: People,
});

export const RunCreate = object({
  definitionOverrides: optional(
    nullable(
      jsonObject({
        description:
          "JSON Merge Patch applied to the action's definition, for this run only. Tokens need the scope write",
        examples: [{ timeoutSeconds: 600 }],
      }),
    ),
  ),
});
export type RunCreate = Static<typeof RunCreate>;

export const StatePage = object({
  resources: Type.Record(
    Type.String(),
    object({
      cursorField: Type.String(),
      lastValue: Type.Unsafe<unknown>({}),
      updatedAt: instant(),
      loadId: nullable(Type.String()),
    }),
  ),
});

export const StateReset = object({
  resources: optional(
    nullable(
      Type.Array(Type.String({ minLength: 1, maxLength: 500 }), {
        minItems: 1,
        maxItems: 1000,
        description: "Resources to reset. Default: all",
      }),
    ),
  ),
  initialValue: optional(
    nullable(
      Type.Union([Type.String({ maxLength: 1000 }), Type.Number(), Type.Boolean()], {
        description: "Cursor value to continue from. Default: the beginning",
      }),
    ),
  ),
});

/** An action with its latest run, as returned by lists and single reads. */
export interface ActionWithRun {
  action: ActionRow;
  run: RunRow | null;
}

export const toAction = ({ action, run }: ActionWithRun): Static<typeof Action> => ({
  id: action.id,
  kind: action.kind,
  name: action.name,
  slug: action.slug,
  status: action.status,
  connectionId: action.connectionId,
  templateId: action.templateId,
  tags: action.tags,
  definition: maskTyped(action.definition),
  latestRun: run && {
    id: run.id,
    status: run.status,
    startedAt: run.startedAt,
    completedAt: run.completedAt,
    definition: masked(run.definition),
    progress: run.progress ? { ...run.progress } : null,
  },
  createdAt: action.createdAt,
  updatedAt: action.updatedAt,
  createdBy: action.createdBy,
  updatedBy: action.updatedBy,
});

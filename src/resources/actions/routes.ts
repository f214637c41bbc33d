import { object, slug, uuid } from "../../base/shape.ts";
import { mapInSlices } from "../../base/slices.ts";
import { operation } from "../../http/operation.ts";
import { triggerOf } from "../../http/trigger.ts";
import { Run, toRun } from "../runs/wire.ts";
import { usersById } from "../users/people.ts";
import { creationFaults, updateFaults } from "./connection.ts";
import { describeKinds, KindPage } from "./kinds.ts";
import {
  createAction,
  deleteAction,
  duplicateAction,
  findAction,
  findActionBySlug,
  listActions,
  runAction,
  updateAction,
} from "./service.ts";
import { readState, resetState } from "./state.ts";
import {
  Action,
  ActionCreate,
  ActionDuplicate,
  ActionPage,
  ActionPatch,
  ActionQuery,
  RunCreate,
  StatePage,
  StateReset,
  toAction,
} from "./wire.ts";

const tag = "Actions";
const params = object({ action_id: uuid() });

export const actionOperations = [
  operation({
    method: "GET",
    path: "/api/v1/actions",
    audience: "viewer",
    tag,
    summary: "List actions",
    query: ActionQuery,
    response: ActionPage,
    async handle({ ctx, query }) {
      const { rows, total } = await listActions(ctx, query);
      const { limit, offset } = query;
      const users = await usersById(
        ctx,
        rows.flatMap(({ action }) => [action.createdBy, action.updatedBy]),
      );
      return {
        actions: await mapInSlices(rows, toAction),
        hasNext: offset + rows.length < total,
        limit,
        offset,
        total,
        users,
      };
    },
  }),
  operation({
    method: "POST",
    path: "/api/v1/actions",
    audience: "member",
    tag,
    summary: "Create an action",
    body: ActionCreate,
    hasDefinitions: true,
    bodyExample: {
      kind: "http_request",
      name: "Fetch orders",
      definition: { url: "https://api.example.com/orders", responseExtract: "orders" },
    },
    faults: creationFaults,
    status: 201,
    response: Action,
    idempotent: true,
    errors: [409],
    handle: async ({ ctx, body }) => toAction(await createAction(ctx, body)),
  }),
  operation({
    method: "GET",
    path: "/api/v1/actions/slug/{slug}",
    audience: "viewer",
    tag,
    summary: "Get an action by slug",
    params: object({ slug: slug() }),
    response: Action,
    handle: async ({ ctx, params }) => toAction(await findActionBySlug(ctx, params.slug)),
  }),
  operation({
    method: "GET",
    path: "/api/v1/actions/{action_id}",
    audience: "viewer",
    tag,
    summary: "Get an action",
    params,
    response: Action,
    handle: async ({ ctx, params }) => toAction(await findAction(ctx, params.action_id)),
  }),
  operation({
    method: "PATCH",
    path: "/api/v1/actions/{action_id}",
    audience: "member",
    tag,
    summary: "Update an action",
    description: "Changes only the fields in the body.",
    params,
    body: ActionPatch,
    furtherFaults: ({ ctx, params: { action_id = "" }, raw }) => updateFaults(ctx, action_id, raw),
    hasDefinitions: true,
    response: Action,
    errors: [409],
    handle: async ({ ctx, params, body }) => toAction(await updateAction(ctx, params.action_id, body)),
  }),
  operation({
    method: "DELETE",
    path: "/api/v1/actions/{action_id}",
    audience: "member",
    tag,
    summary: "Delete an action",
    description: "Its runs are kept.",
    params,
    status: 204,
    handle: async ({ ctx, params }) => deleteAction(ctx, params.action_id),
  }),
  operation({
    method: "POST",
    path: "/api/v1/actions/{action_id}/duplicate",
    audience: "member",
    tag,
    summary: "Duplicate an action",
    description:
      "With the same definition, connection and tags. Versions and incremental state are not copied.",
    params,
    body: ActionDuplicate,
    bodyOptional: true,
    status: 201,
    response: Action,
    idempotent: true,
    handle: async ({ ctx, params, body }) =>
      toAction(await duplicateAction(ctx, params.action_id, body.name)),
  }),
  operation({
    method: "POST",
    path: "/api/v1/actions/{action_id}/run",
    audience: "member",
    tag,
    summary: "Run an action",
    description: "Queues a run and returns it.",
    params,
    body: RunCreate,
    hasDefinitions: true,
    bodyExample: {},
    bodyOptional: true,
    status: 201,
    response: Run,
    idempotent: true,
    errors: [409],
    async handle({ ctx, params, body, identity, visit }) {
      const key = visit.request.headers.get("idempotency-key");
      return toRun(ctx, await runAction(ctx, params.action_id, body, triggerOf(identity), key));
    },
  }),
  operation({
    method: "GET",
    path: "/api/v1/actions/{action_id}/state",
    audience: "viewer",
    tag,
    summary: "Get an action's incremental state",
    description: "The cursor of each resource of an incremental extract.",
    params,
    response: StatePage,
    handle: ({ ctx, params }) => readState(ctx, params.action_id),
  }),
  operation({
    method: "POST",
    path: "/api/v1/actions/{action_id}/state/reset",
    audience: "member",
    tag,
    summary: "Reset an action's incremental state",
    description: "The next run reads everything from the beginning.",
    params,
    body: StateReset,
    bodyOptional: true,
    response: StatePage,
    handle: ({ ctx, params, body }) => resetState(ctx, params.action_id, body),
  }),
  operation({
    method: "GET",
    path: "/api/v1/action-kinds",
    audience: "viewer",
    tag,
    summary: "List action kinds",
    description: "With the JSON schemas of each kind's definition and result.",
    response: KindPage,
    handle: async ({ app }) => ({ kinds: describeKinds(app) }),
  }),
];

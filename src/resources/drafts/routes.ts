import { object, uuid } from "../../base/shape.ts";
import { operation } from "../../http/operation.ts";
import { Automation, toAutomation } from "../automations/wire.ts";
import { findLayout, putLayout } from "./layout.ts";
import { deleteDraft, findDraft, patchDraft, publishDraft } from "./service.ts";
import {
  AutomationDraft,
  AutomationDraftPatch,
  AutomationDraftPublish,
  AutomationLayout,
  toDraft,
} from "./wire.ts";

const tag = "Automations";
const params = object({ automation_id: uuid() });
const path = "/api/v1/automations/{automation_id}/draft";

const LAYOUT = { direction: "down", positions: { ask: [0, 120] }, groups: [], notes: [] };

export const automationDraftOperations = [
  operation({
    method: "GET",
    path,
    audience: "viewer",
    tag,
    summary: "Get an automation's draft",
    description: "With the published config.",
    params,
    response: AutomationDraft,
    handle: async ({ ctx, params }) => toDraft(await findDraft(ctx, params.automation_id)),
  }),
  operation({
    method: "PATCH",
    path,
    audience: "member",
    tag,
    summary: "Update an automation's draft",
    description:
      "Creates the draft if it doesn't exist. A draft can be incomplete. Runs use it only once it is published. Secrets are set on the automation itself.",
    params,
    body: AutomationDraftPatch,
    hasDefinitions: true,
    bodyExample: {
      config: { steps: [{ key: "ask", kind: "approval_gate", definition: { title: "Go on?" } }] },
    },
    response: AutomationDraft,
    handle: async ({ ctx, params, body }) => toDraft(await patchDraft(ctx, params.automation_id, body)),
  }),
  operation({
    method: "DELETE",
    path,
    audience: "member",
    tag,
    summary: "Discard an automation's draft",
    params,
    status: 204,
    handle: ({ ctx, params }) => deleteDraft(ctx, params.automation_id),
  }),
  operation({
    method: "POST",
    path: "/api/v1/automations/{automation_id}/draft/publish",
    audience: "member",
    tag,
    summary: "Publish an automation's draft",
    description:
      "Runs then use its config. Changes that others published in the meantime are merged step by step. If both changed the same step or field, the response is 409 and names them. With `only`, the named changes are published and the rest stays in the draft; 409 if a named step needs one that would stay.",
    params,
    body: AutomationDraftPublish,
    bodyOptional: true,
    bodyExample: { only: ["ask"] },
    guards: path,
    response: Automation,
    errors: [409],
    handle: async ({ app, ctx, params, body }) =>
      toAutomation(app, await publishDraft(ctx, params.automation_id, body.only)),
  }),
  operation({
    method: "GET",
    path: "/api/v1/automations/{automation_id}/layout",
    audience: "viewer",
    tag,
    summary: "Get an automation's layout",
    description: "Positions on the page's canvas.",
    params,
    response: AutomationLayout,
    example: LAYOUT,
    handle: ({ ctx, params }) => findLayout(ctx, params.automation_id),
  }),
  operation({
    method: "PUT",
    path: "/api/v1/automations/{automation_id}/layout",
    audience: "member",
    tag,
    summary: "Save an automation's layout",
    description: "Not part of the config, its versions or the audit log. The limit is 256 KiB.",
    params,
    body: AutomationLayout,
    bodyExample: LAYOUT,
    example: LAYOUT,
    response: AutomationLayout,
    errors: [413],
    handle: ({ ctx, params, body }) => putLayout(ctx, params.automation_id, body),
  }),
];

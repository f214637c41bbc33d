import { object, uuid } from "../../base/shape.ts";
import { operation } from "../../http/operation.ts";
import { toTemplate } from "../templates/wire.ts";
import { makeConnectionTemplate } from "./make.ts";
import { ConnectionTemplateDraft, ConnectionTemplateRequest, exampleDraft } from "./wire.ts";

export const catalogTemplateOperations = [
  operation({
    method: "POST",
    path: "/api/v1/api-catalog/{api_id}/connection-template",
    audience: "member",
    tag: "API catalog",
    summary: "Draft a connection template",
    description:
      "Its resources are the API's lists. Record paths, paginators, keys and cursors come from the document that the " +
      "endpoints were imported from. Lists it doesn't describe completely are left out; `unresolved` names them, what " +
      "is missing, and suggestions.",
    params: object({ api_id: uuid() }),
    body: ConnectionTemplateRequest,
    bodyOptional: true,
    status: 201,
    response: ConnectionTemplateDraft,
    idempotent: true,
    errors: [404, 409],
    bodyExample: { slug: "orders-api" },
    example: exampleDraft,
    async handle({ ctx, params, body }) {
      const { template, unresolved } = await makeConnectionTemplate(ctx, params.api_id, body);
      return { template: toTemplate(template), unresolved };
    },
  }),
];

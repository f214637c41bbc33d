import { object, slug, uuid } from "../../base/shape.ts";
import { operation } from "../../http/operation.ts";
import { findTemplate, findTemplateBySlug } from "../template-library/find.ts";
import {
  changeFaults,
  changeTemplate,
  createTemplate,
  creationFaults,
  deleteTemplate,
  deprecateTemplate,
  listTemplates,
  publishTemplate,
} from "./service.ts";
import {
  exampleTemplate,
  Template,
  TemplateChange,
  TemplateCreate,
  TemplatePage,
  TemplateQuery,
  toListed,
  toTemplate,
  VersionQuery,
} from "./wire.ts";

const tag = "Templates";
const params = object({ template_id: uuid() });
const example = exampleTemplate;
const { slug: exampleSlug, displayName, templateType, definition } = exampleTemplate;

export const templateOperations = [
  operation({
    method: "GET",
    path: "/api/v1/templates",
    audience: "viewer",
    tag,
    summary: "List templates",
    description:
      "One entry per version, newest first. Returns the organization's templates, the built-in ones, or both.",
    query: TemplateQuery,
    response: TemplatePage,
    async handle({ ctx, query }) {
      const { rows, total } = await listTemplates(ctx, query);
      return { templates: rows.map((row) => toListed(row, query.summary)), total };
    },
  }),
  operation({
    method: "POST",
    path: "/api/v1/templates",
    audience: "member",
    tag,
    summary: "Create a template",
    description: "It is a draft: the first version, or with `version` the one with that number.",
    body: TemplateCreate,
    hasDefinitions: true,
    bodyExample: { slug: exampleSlug, displayName, templateType, definition },
    faults: (_, raw, ctx) => creationFaults(raw, ctx),
    status: 201,
    response: Template,
    idempotent: true,
    errors: [409],
    example,
    handle: async ({ ctx, body }) => toTemplate(await createTemplate(ctx, body)),
  }),
  operation({
    method: "GET",
    path: "/api/v1/templates/slug/{slug}",
    audience: "viewer",
    tag,
    summary: "Get a template by slug",
    description: "The latest published version, or the latest draft if nothing is published.",
    params: object({ slug: slug() }),
    query: VersionQuery,
    response: Template,
    errors: [404],
    example,
    handle: async ({ ctx, params, query }) =>
      toTemplate(await findTemplateBySlug(ctx, params.slug, query.version)),
  }),
  operation({
    method: "GET",
    path: "/api/v1/templates/{template_id}",
    audience: "viewer",
    tag,
    summary: "Get a template version",
    params,
    response: Template,
    errors: [404],
    example,
    handle: async ({ ctx, params }) => toTemplate(await findTemplate(ctx, params.template_id)),
  }),
  operation({
    method: "PUT",
    path: "/api/v1/templates/{template_id}",
    audience: "member",
    tag,
    summary: "Update a template",
    description:
      "Changes only the fields in the body. A draft is edited in place. A published version isn't changed: the edit " +
      "creates the next version as a draft, or goes to the existing draft.",
    params,
    body: TemplateChange,
    furtherFaults: ({ ctx, params: { template_id = "" }, raw }) => changeFaults(ctx, template_id, raw),
    hasDefinitions: true,
    response: Template,
    errors: [404, 409],
    example,
    handle: async ({ ctx, params, body }) => toTemplate(await changeTemplate(ctx, params.template_id, body)),
  }),
  operation({
    method: "DELETE",
    path: "/api/v1/templates/{template_id}",
    audience: "member",
    tag,
    summary: "Delete a template version",
    description: "409 if resources were created from it.",
    params,
    status: 204,
    errors: [404, 409],
    handle: ({ ctx, params }) => deleteTemplate(ctx, params.template_id),
  }),
  operation({
    method: "POST",
    path: "/api/v1/templates/{template_id}/publish",
    audience: "member",
    tag,
    summary: "Publish a template version",
    params,
    response: Template,
    errors: [404, 409],
    example: { ...example, status: "published" },
    handle: async ({ ctx, params }) => toTemplate(await publishTemplate(ctx, params.template_id)),
  }),
  operation({
    method: "POST",
    path: "/api/v1/templates/{template_id}/deprecate",
    audience: "member",
    tag,
    summary: "Deprecate a template version",
    description: "New installs are blocked. Existing resources keep working.",
    params,
    response: Template,
    errors: [404, 409],
    example: { ...example, status: "deprecated", isActive: false },
    handle: async ({ ctx, params }) => toTemplate(await deprecateTemplate(ctx, params.template_id)),
  }),
];

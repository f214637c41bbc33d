import { type Static, Type } from "@sinclair/typebox";
import { requestObject } from "../../base/null-shape.ts";
import { nullable, object, optional, slug } from "../../base/shape.ts";
import { Unresolved } from "../api-catalog/wire.ts";
import { exampleTemplate, Template } from "../templates/wire.ts";

export const ConnectionTemplateRequest = requestObject({
  slug: optional(slug()),
  displayName: optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      description: "Name of the template. Default: the API's name",
    }),
  ),
  endpoints: optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 255 }), {
      minItems: 1,
      maxItems: 2_000,
      uniqueItems: true,
      description: "Names of the endpoints to read lists from. Default: all",
    }),
  ),
});
export type ConnectionTemplateRequest = Static<typeof ConnectionTemplateRequest>;

const Gap = Type.Composite(
  [
    object({
      endpoint: nullable(
        Type.String({ description: "Name of the endpoint. Null if it concerns the whole API" }),
      ),
      resource: nullable(
        Type.String({ description: "Resource of the template. Null if the endpoint didn't become one" }),
      ),
    }),
    Unresolved,
  ],
  { additionalProperties: false },
);

export const ConnectionTemplateDraft = object({
  template: Template,
  unresolved: Type.Array(Gap, {
    description: "What the document doesn't say. Weir doesn't guess it",
  }),
});

export const exampleDraft: Static<typeof ConnectionTemplateDraft> = {
  template: exampleTemplate,
  unresolved: [
    {
      endpoint: "list_orders",
      resource: null,
      field: "endpoint.paginator",
      message: "It accepts limit, but doesn't say how to request the next page.",
      candidates: [],
    },
  ],
};

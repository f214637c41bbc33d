import { type Static, Type } from "@sinclair/typebox";
import { jsonObject, nullable, object, offsetQuery, oneOf, optional, uuid } from "../../base/shape.ts";
import type { TemplateRow } from "../templates/table.ts";
import { COMPONENT_TYPES, type ComponentType } from "./table.ts";

export const Bundle = object({
  id: uuid(),
  slug: Type.String(),
  displayName: Type.String(),
  description: nullable(Type.String()),
  iconUrl: nullable(Type.String()),
  inputJsonSchema: jsonObject(),
  version: Type.Integer(),
});

export const BundleQuery = object(offsetQuery(50));

export const BundlePage = object({
  bundles: Type.Array(Bundle),
  limit: Type.Integer(),
  offset: Type.Integer(),
  total: Type.Integer(),
});

export const BundleInstall = object({
  inputs: optional(
    nullable(jsonObject({ description: "Values of the inputs, which match the bundle's inputJsonSchema" })),
  ),
});

export const Install = object({
  bundleSlug: Type.String(),
  bundleTemplateId: uuid(),
  bundleVersion: Type.Integer(),
  components: Type.Array(
    object({
      key: Type.String(),
      type: oneOf(COMPONENT_TYPES),
      entityType: Type.String(),
      entityId: uuid(),
      entityName: Type.String(),
      secret: optional(
        Type.String({
          description:
            "Signing secret that was generated for a webhook. Returned only by the install that made it",
        }),
      ),
    }),
  ),
});

export const toBundle = (row: TemplateRow): Static<typeof Bundle> => ({
  id: row.id,
  slug: row.slug,
  displayName: row.displayName,
  description: row.description,
  iconUrl: row.iconUrl,
  inputJsonSchema: row.inputJsonSchema,
  version: row.version,
});

/** Result of an install: one entry for each component, in the bundle's order. */
export interface InstallResult {
  bundle: TemplateRow;
  components: {
    component: { key: string; type: ComponentType };
    entity: { id: string; name: string; secret?: string | null };
  }[];
}

export const toInstall = ({ bundle, components }: InstallResult): Static<typeof Install> => ({
  bundleSlug: bundle.slug,
  bundleTemplateId: bundle.id,
  bundleVersion: bundle.version,
  components: components.map(({ component, entity }) => ({
    key: component.key,
    type: component.type,
    entityType: component.type,
    entityId: entity.id,
    entityName: entity.name,
    ...(entity.secret ? { secret: entity.secret } : {}),
  })),
});

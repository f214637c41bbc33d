import { AppError, type Fault, InvalidInput } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import { freeSlug, slugify } from "../../base/slug.ts";
import { type Connector, connectorOf } from "../../catalog/connector.ts";
import type { EndpointDefinition } from "../../catalog/contract.ts";
import type { Context } from "../../context.ts";
import { findWhole } from "../api-catalog/find.ts";
import { createTemplate } from "../templates/service.ts";
import type { TemplateRow } from "../templates/table.ts";
import type { ConnectionTemplateRequest } from "./wire.ts";

/**
 * Creates a draft of a connection template from an API's list endpoints. Throws `not_found`,
 * `invalid_state` for an MCP server, `slug_taken`, and `InvalidInput` for endpoints that the API doesn't have.
 */
export async function makeConnectionTemplate(
  ctx: Context,
  id: string,
  { slug, displayName, endpoints: wanted }: ConnectionTemplateRequest,
): Promise<{ template: TemplateRow; unresolved: Connector["unresolved"] }> {
  const { row, items } = await findWhole(ctx, id);
  if (row.type !== "http" || row.baseUrl === null)
    throw new AppError(
      "invalid_state",
      `${row.name} is an MCP server. Connection templates require an HTTP API.`,
    );
  const known = new Set(items.map(({ name }) => name));
  const faults: Fault[] = (wanted ?? []).flatMap((name, index) =>
    known.has(name)
      ? []
      : [
          {
            loc: ["body", "endpoints", String(index)],
            msg: `${row.name} has no such endpoint`,
            type: "not_found",
          },
        ],
  );
  if (faults.length > 0) throw new InvalidInput(faults);
  const names = wanted && new Set(wanted);
  const endpoints = items
    .filter(({ name }) => !names || names.has(name))
    .map(({ definition }) => definition as EndpointDefinition);
  const { definition, unresolved } = connectorOf(row.baseUrl, endpoints, row.authHints);
  const create = (ownSlug: string) =>
    createTemplate(ctx, {
      slug: ownSlug,
      displayName: displayName ?? row.name,
      description: row.description,
      templateType: "connection",
      definition: definition as unknown as JsonObject,
    });
  const template = await (slug === undefined ? withFreeSlug(slugify(row.name, "api"), create) : create(slug));
  return { template, unresolved };
}

async function withFreeSlug(
  base: string,
  create: (slug: string) => Promise<TemplateRow>,
): Promise<TemplateRow> {
  const taken = new Set<string>();
  for (;;) {
    const slug = freeSlug(base, taken);
    try {
      return await create(slug);
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== "slug_taken") throw error;
      taken.add(slug);
    }
  }
}

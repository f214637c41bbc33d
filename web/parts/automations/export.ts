import { stringify } from "yaml";
import { escaped, variableName } from "../../../src/base/placeholder.ts";
import { ApiError, call } from "../../api.ts";
import type { Automation } from "../../calls.ts";

/** Format version of `weir apply`. */
const FORMAT = 1;

/** Resources that configs refer to by ID and files by slug, such as `${connection:shop}`. */
const NOUNS: Readonly<Record<string, (id: string) => Promise<string>>> = {
  connectionId: async (id) => {
    const { slug } = await call("GET /api/v1/connections/{connection_id}", { path: { connection_id: id } });
    return `\${connection:${slug}}`;
  },
  actionId: async (id) => {
    const { slug } = await call("GET /api/v1/actions/{action_id}", { path: { action_id: id } });
    return `\${action:${slug}}`;
  },
  automationId: async (id) => {
    const { slug } = await call("GET /api/v1/automations/{automation_id}", { path: { automation_id: id } });
    return `\${automation:${slug}}`;
  },
  apiId: async (id) => {
    const { name } = await call("GET /api/v1/api-catalog/{api_id}", { path: { api_id: id } });
    return `\${api:${name}}`;
  },
};

const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** References to deleted resources keep the ID. Any other error fails the export. */
function idOfGone(error: unknown, id: string): string {
  if (error instanceof ApiError && error.status === 404) return id;
  throw error;
}

async function written(value: unknown, field: string, names: Map<string, Promise<string>>): Promise<unknown> {
  if (Array.isArray(value)) return Promise.all(value.map((each) => written(each, field, names)));
  if (typeof value === "object" && value !== null) {
    const pairs = Object.entries(value).map(async ([name, each]) => [name, await written(each, name, names)]);
    return Object.fromEntries(await Promise.all(pairs));
  }
  if (typeof value !== "string") return value;
  const nameOf = NOUNS[field];
  if (nameOf === undefined || !ID.test(value)) return escaped(value);
  const name = names.get(value) ?? nameOf(value).catch((error: unknown) => idOfGone(error, value));
  names.set(value, name);
  return name;
}

/** Automations as YAML for `weir apply`, without IDs and secrets. */
export async function automationsAsYaml(automations: readonly Automation[]): Promise<string> {
  const names = new Map<string, Promise<string>>();
  const things = await Promise.all(
    automations.map(async ({ slug, name, description, triggerType, status, tags, config, hasSecret }) => {
      const { secret: _, ...rest } = config as Record<string, unknown>;
      return {
        slug,
        name: escaped(name),
        ...(description === null ? {} : { description: escaped(description) }),
        triggerType,
        ...(status === "disabled" ? { disabled: true } : {}),
        ...(status === "draft" ? { draft: true } : {}),
        ...(tags.length > 0 ? { tags: tags.map(escaped) } : {}),
        ...(hasSecret ? { secret: `\${${variableName([slug, "secret"])}}` } : {}),
        config: await written(rest, "config", names),
      };
    }),
  );
  return stringify({ weir: FORMAT, automations: things }, { lineWidth: 0, aliasDuplicateObjects: false });
}

import { AppError } from "../../base/errors.ts";
import { defineProvider } from "../contract.ts";
import { getDocument } from "./client.ts";
import { extractResource } from "./extract.ts";
import { findResource } from "./request.ts";
import { columnsOf, RESOURCES, TIERS } from "./resources.ts";
import { KlaviyoConfig, KlaviyoCredentials } from "./shape.ts";

const SCHEMA = "klaviyo";

/** A Klaviyo account through its JSON:API. */
export const klaviyo = defineProvider({
  id: "klaviyo",
  title: "Klaviyo",
  description: "Profiles, events, campaigns and lists of a Klaviyo account.",
  config: KlaviyoConfig,
  credentials: KlaviyoCredentials,
  destination: ["baseUrl"],

  async verify(link) {
    const { data } = await getDocument(link, {
      path: "accounts",
      parameters: [],
      tier: TIERS.XS,
      purpose: { what: "the account", scope: "accounts:read" },
      isHurried: true,
    });
    if (Array.isArray(data) && data.length > 0) return;
    throw new AppError("upstream", "The response has no account. Check baseUrl and apiKey.");
  },

  tables: {
    tables: async () => RESOURCES.map(({ name }) => ({ schema: SCHEMA, table: name, spec: name })),
    async columns(_link, schema, table) {
      if (schema !== SCHEMA) {
        throw new AppError("not_found", `Schema ${JSON.stringify(schema)} not found. Use "${SCHEMA}".`);
      }
      return Object.entries(columnsOf(findResource(table))).map(([name, dataType]) => ({
        name,
        dataType,
        nullable: name !== "id",
      }));
    },
  },

  extract: extractResource,
});

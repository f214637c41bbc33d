import type { JsonObject } from "../../base/json.ts";
import type { App } from "../../context.ts";
import type { Provider } from "../../providers/contract.ts";
import type { ProviderList } from "./wire.ts";

/** Returns the providers of this version, with the JSON Schemas of their connections' settings. */
export const describeProviders = (app: Pick<App, "providers">): ProviderList["providers"] =>
  [...app.providers.values()].map(describe);

const describe = (provider: Provider): ProviderList["providers"][number] => ({
  id: provider.id,
  title: provider.title,
  description: provider.description,
  configSchema: provider.config as unknown as JsonObject,
  credentialsSchema: provider.credentials as unknown as JsonObject,
  capabilities: {
    files: provider.files !== undefined,
    upload: provider.files?.write !== undefined,
    schema: provider.tables !== undefined,
    http: provider.http !== undefined,
    extract: provider.extract !== undefined,
    signIn: provider.signIn !== undefined,
  },
});

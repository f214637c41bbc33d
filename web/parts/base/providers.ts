import type { Reply } from "../../calls.ts";
import { useApi } from "../../data.ts";
import { translatedSchema } from "../../texts/schema.ts";
import { known, language } from "../../texts/text.ts";

const CALL = "GET /api/v1/connection-providers";
type Providers = Reply<typeof CALL>;

const translated = ({ providers, ...rest }: Providers): Providers => ({
  ...rest,
  providers: providers.map((provider) => ({
    ...provider,
    title: known(provider.title),
    description: known(provider.description),
    configSchema: translatedSchema(provider.configSchema, known) as typeof provider.configSchema,
    credentialsSchema: translatedSchema(provider.credentialsSchema, known) as typeof provider.configSchema,
  })),
});

/** The providers of connections and their fields, in the page's language. */
export const useProviders = () =>
  useApi(CALL, {}, { isFixed: true, ...(language() === "en" ? {} : { select: translated }) });

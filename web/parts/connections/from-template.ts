import type { Provider, Schema, Template } from "../../calls.ts";
import type { Source } from "./new.tsx";

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const asSchema = (value: unknown): Schema => (isObject(value) ? value : {});

/** Self-hosted services need their own URL. For others, few users change it. */
const ADDRESSES = ["baseUrl", "authorizeUrl", "tokenUrl"];

const signsIn = ({ http }: Template["definition"]): boolean =>
  isObject(http) && isObject(http.auth) && http.auth.type === "oauth2_authorization_code";

export const sourceOf = (template: Template): Source => ({
  title: template.displayName,
  description: template.description,
  configSchema: asSchema(template.definition.configSchema),
  credentialsSchema: asSchema(template.definition.credentialsSchema ?? template.credentialsSchema),
  named: { templateId: template.id },
  hasSignIn: signsIn(template.definition),
  minor: ADDRESSES,
});

/** The parts of a template that a connection's page needs. Null for one from a bundle. */
export function providerOf(template: Template): Provider | null {
  const { http } = template.definition;
  if (!isObject(http)) return null;
  const hasLists = Array.isArray(http.resources) && http.resources.length > 0;
  const { configSchema, credentialsSchema, hasSignIn } = sourceOf(template);
  return {
    id: "http",
    title: template.displayName,
    description: template.description ?? "",
    configSchema: configSchema as Provider["configSchema"],
    credentialsSchema: credentialsSchema as Provider["credentialsSchema"],
    capabilities: {
      files: false,
      upload: false,
      schema: hasLists,
      http: true,
      extract: true,
      signIn: hasSignIn,
    },
  };
}

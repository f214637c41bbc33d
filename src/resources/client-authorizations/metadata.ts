import type { App } from "../../context.ts";
import { CLIENT_SCOPES, DEFAULT_SCOPES } from "./table.ts";

/** The only resource that clients get tokens for. */
export const resourceOf = (app: App): string => `${app.baseUrl()}/mcp`;

/** RFC 9728. */
export const protectedResource = (app: App) => ({
  resource: resourceOf(app),
  authorization_servers: [app.baseUrl()],
  bearer_methods_supported: ["header"],
  scopes_supported: DEFAULT_SCOPES, // All that tools need.
  resource_name: "Weir",
  resource_documentation: `${app.baseUrl()}/docs/agents`,
});

/** RFC 8414. */
export const authorizationServer = (app: App) => ({
  issuer: app.baseUrl(),
  authorization_endpoint: `${app.baseUrl()}/oauth/authorize`,
  token_endpoint: `${app.baseUrl()}/oauth/token`,
  registration_endpoint: `${app.baseUrl()}/oauth/register`,
  response_types_supported: ["code"],
  response_modes_supported: ["query"],
  grant_types_supported: ["authorization_code", "refresh_token"],
  code_challenge_methods_supported: ["S256"],
  token_endpoint_auth_methods_supported: ["none"],
  scopes_supported: CLIENT_SCOPES,
  client_id_metadata_document_supported: true,
  authorization_response_iss_parameter_supported: true,
  service_documentation: `${app.baseUrl()}/docs/agents`,
});

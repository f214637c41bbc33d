import type { Described } from "./described.ts";

type Route = Pick<Described, "method" | "path">;

/** Exceptions to the rules below. */
const NAMES: Readonly<Record<string, string>> = {
  "GET /health": "getHealth",
  "GET /api/v1/health": "getHealthDetails",
  "GET /metrics": "getMetrics",
  "GET /api/v1/stream-smoke": "streamSmoke",
  "GET /api/observability/smoke": "getObservabilitySmoke",
  "POST /api/observability/simulate-llm-error": "simulateLlmError",
  "GET /api/v1/auth/methods": "listSignInMethods",
  "POST /api/v1/auth/setup": "setUp",
  "POST /unsubscribe": "unsubscribe",
  "POST /api/v1/auth/login": "signIn",
  "POST /api/v1/auth/logout": "signOut",
  "GET /api/v1/auth/oidc/start": "startOidcSignIn",
  "GET /api/v1/auth/oidc/callback": "finishOidcSignIn",
  "POST /api/v1/auth/device/code": "requestDeviceCode",
  "POST /api/v1/auth/device/token": "pollDeviceToken",
  "GET /api/v1/auth/device": "getWaitingDevice",
  "POST /api/v1/auth/device/approve": "approveDevice",
  "GET /.well-known/oauth-protected-resource": "getOAuthResource",
  "GET /.well-known/oauth-protected-resource/mcp": "getMcpResource",
  "GET /.well-known/oauth-authorization-server": "getOAuthServer",
  "POST /oauth/register": "registerClient",
  "POST /oauth/token": "exchangeCode",
  "GET /oauth/authorize": "getAuthorizationPage",
  "GET /oauth/authorize.js": "getAuthorizationScript",
  "GET /api/v1/auth/clients/request": "getClientRequest",
  "POST /api/v1/auth/clients/decide": "decideClientRequest",
  "POST /api/v1/auth/invitations/accept": "acceptInvitation",
  "GET /api/v1/users/me/invitations": "listMyInvitations",
  "POST /api/v1/users/me/invitations/{invitation_id}/accept": "acceptMyInvitation",
  "POST /api/v1/users/me/invitations/{invitation_id}/decline": "declineMyInvitation",
  "POST /api/v1/auth/forgot": "forgotPassword",
  "POST /api/v1/auth/reset": "resetPassword",
  "GET /api/v1/installation": "getInstallationAccess",
  "GET /api/v1/installation/users": "listInstallationUsers",
  "GET /api/v1/installation/organizations": "listInstallationOrganizations",
  "GET /api/v1/installation/organizations/{organization_id}": "getInstallationOrganization",
  "PATCH /api/v1/installation/organizations/{organization_id}": "updateInstallationOrganization",
  "POST /api/v1/installation/organizations/{organization_id}/restore": "restoreOrganization",
  "PATCH /api/v1/installation/users/{user_id}": "updateInstallationUser",
  "GET /docs/docs.js": "getDocsScript",
  "GET /docs/docs.css": "getDocsStyle",
  "GET /api/v1/users/me": "getCurrentUser",
  "GET /api/v1/users/me/memberships": "listMyMemberships",
  "PATCH /api/v1/users/me/preferences": "updateMyPreferences",
  "GET /api/v1/users/me/notices": "getMyNoticePreferences",
  "PATCH /api/v1/users/me/notices": "updateMyNoticePreferences",
  "GET /api/v1/organizations/current": "getCurrentOrganization",
  "PATCH /api/v1/organizations/current": "updateCurrentOrganization",
  "GET /api/v1/organizations/team": "getTeam",
  "PATCH /api/v1/organizations/team/members/{membership_id}/role": "updateTeamMemberRole",
  "DELETE /api/v1/organizations/team/members/{membership_id}": "removeTeamMember",
  "DELETE /api/v1/sessions": "revokeSessions",
  "DELETE /api/v1/sessions/{session_id}": "revokeSession",
  "DELETE /api/v1/access-tokens/{token_id}": "revokeAccessToken",
  "DELETE /api/v1/api-keys/{key_id}": "revokeApiKey",
  "DELETE /api/v1/organizations/invitations/{invitation_id}": "revokeInvitation",
  "PUT /api/v1/connections/{connection_id}/files": "uploadConnectionFile",
  "POST /api/v1/connections/test": "testNewConnection",
  "GET /api/v1/automation-runs": "listAllAutomationRuns",
  "GET /api/v1/artifacts/{artifact_id}/content": "downloadArtifact",
  "GET /api/v1/datasets/{layer}/{dataset}/preview": "previewDataset",
  "GET /api/v1/datasets/{layer}/{dataset}/profile": "getTableProfile",
  "GET /api/v1/datasets/{layer}/{dataset}/loads": "listDatasetLoads",
  "GET /api/v1/datasets/{layer}/{dataset}/lineage": "getDatasetLineage",
  "PUT /api/v1/datasets/{layer}/{dataset}/upload": "uploadDataset",
  "GET /api/v1/api-catalog": "listCatalogApis",
  "POST /api/v1/api-catalog/discover": "discoverApi",
  "POST /api/v1/api-catalog/ai-import": "importApi",
  "POST /api/v1/api-catalog/http": "createHttpApi",
  "POST /api/v1/api-catalog/mcp": "createMcpApi",
  "GET /api/v1/api-catalog/{api_id}": "getCatalogApi",
  "PATCH /api/v1/api-catalog/{api_id}": "updateCatalogApi",
  "DELETE /api/v1/api-catalog/{api_id}": "deleteCatalogApi",
  "POST /api/v1/api-catalog/{api_id}/ai-import": "importIntoCatalogApi",
  "POST /api/v1/api-catalog/{api_id}/connection-template": "createCatalogConnectionTemplate",
  "POST /api/v1/api-catalog/{api_id}/refresh": "refreshCatalogApi",
  "POST /api/v1/api-catalog/authorize": "authorizeMcpServer",
  "POST /api/v1/api-catalog/{api_id}/authorize": "authorizeCatalogApi",
  "GET /api/v1/api-catalog/{api_id}/sign-in": "getCatalogSignIn",
  "DELETE /api/v1/api-catalog/{api_id}/sign-in": "endCatalogSignIn",
  "GET /api/v1/api-catalog/oauth/callback": "finishCatalogSignIn",
  "GET /api/v1/api-catalog/oauth/client.json": "getOAuthClientDocument",
  "POST /api/v1/api-catalog/{api_id}/endpoints/{name}/test": "testCatalogEndpoint",
  "GET /api/v1/agents/specs": "listAgentSpecs",
  "POST /api/v1/agents/specs": "createAgentSpec",
  "GET /api/v1/agents/specs/{spec_id}": "getAgentSpec",
  "PATCH /api/v1/agents/specs/{spec_id}": "updateAgentSpec",
  "DELETE /api/v1/agents/specs/{spec_id}": "deleteAgentSpec",
  "POST /api/v1/chat/threads/bulk-delete": "deleteChatThreads",
  "POST /api/v1/chat/threads/{thread_id}/turns/stream": "startChatTurn",
  "GET /api/v1/chat/threads/{thread_id}/turns/stream": "streamChatTurn",
  "POST /api/v1/chat/threads/{thread_id}/turns/cancel": "cancelChatTurn",
  "POST /api/v1/query": "runQuery",
  "GET /api/v1/dashboards/{dashboard_id}/data": "getDashboardData",
  "GET /api/v1/shared-dashboards/{token}": "getSharedDashboard",
  "GET /api/v1/shared-dashboards/{token}/data": "getSharedDashboardData",
  "GET /api/v1/queries": "listSavedQueries",
  "POST /api/v1/queries": "createSavedQuery",
  "GET /api/v1/queries/{query_id}": "getSavedQuery",
  "PATCH /api/v1/queries/{query_id}": "updateSavedQuery",
  "DELETE /api/v1/queries/{query_id}": "deleteSavedQuery",
  "POST /api/v1/queries/{query_id}/run": "runSavedQuery",
  "GET /api/v1/events/verify": "verifyEvents",
  "POST /api/v1/approvals/{approval_id}/approve": "approve",
  "POST /api/v1/approvals/{approval_id}/reject": "reject",
  "GET /api/v1/decisions/pending": "listPendingDecisions",
  "POST /api/v1/decisions/{decision_id}/decide": "decide",
  "GET /api/v1/webhook-deliveries": "listInboundDeliveries",
  "GET /api/v1/webhook-deliveries/{delivery_id}": "getInboundDelivery",
  "POST /api/v1/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver": "redeliverWebhookDelivery",
  "POST /api/v1/webhooks/{webhook_id}/rotate-secret": "rotateWebhookSecret",
  "POST /webhooks/{org_id}/{path}": "receiveWebhook",
  "POST /f/{org_id}/{path}": "sendForm",
  "GET /openapi.json": "getOpenApiDocument",
  "GET /iceberg/v1/config": "getIcebergConfig",
  "GET /iceberg/v1/{prefix}/namespaces": "listIcebergNamespaces",
  "GET /iceberg/v1/{prefix}/namespaces/{namespace}": "getIcebergNamespace",
  "GET /iceberg/v1/{prefix}/namespaces/{namespace}/tables": "listIcebergTables",
  "GET /iceberg/v1/{prefix}/namespaces/{namespace}/tables/{table}": "getIcebergTable",
  "POST /iceberg/v1/oauth/tokens": "createIcebergToken",
  "POST /mcp": "callMcp",
  "GET /api/inbound/link-callback": "finishChatLink",
  "GET /api/v1/chat-links": "getChatLink",
  "POST /api/inbound/slack/commands": "receiveSlackCommand",
  "POST /api/inbound/slack/interactions": "receiveSlackInteraction",
  "POST /api/inbound/slack/events": "receiveSlackEvent",
};

/**
 * Returns a stable, unique ID that generated clients can use as a name:
 * `listActions`, `getActionRun`, `verifyConnection`.
 */
export function operationIdOf(route: Route): string {
  return NAMES[`${route.method} ${route.path}`] ?? (isApi(route) ? composed(route) : spelled(route));
}

const isApi = ({ path }: Route) => path.startsWith("/api/v1/");

/** For what isn't part of the API, such as a page: derived from its path only. */
function spelled({ method, path }: Route): string {
  return (
    method.toLowerCase() +
    path
      .split(/[^A-Za-z0-9]+/)
      .map(pascal)
      .join("")
  );
}

/** A verb, then the resources in the path, each in the singular if one of them is named. */
function composed({ method, path }: Route): string {
  const words = path.slice("/api/v1/".length).split("/");
  if (words[0] === "organizations" && words.length > 1) words.shift();
  const last = words.at(-1) ?? "";
  const nouns = words.flatMap((word, index) => {
    if (isParameter(word) || word === "slug") return [];
    return [
      pascal(isParameter(words[index + 1] ?? "") || words[index + 1] === "slug" ? singular(word) : word),
    ];
  });
  const whole = nouns.join("");
  if (isParameter(last)) return verbOf(method) + whole + (words.at(-2) === "slug" ? "BySlug" : "");
  const [before, end = ""] = [nouns.slice(0, -1).join(""), nouns.at(-1)];
  if (last === "stream") return `stream${before}`;
  if (method === "GET") return (isPlural(last) ? "list" : "get") + whole;
  if (method !== "POST") return verbOf(method) + whole;
  if (isPlural(last)) return `create${before}${pascal(singular(last))}`;
  return end.charAt(0).toLowerCase() + end.slice(1) + before;
}

const verbOf = (method: string) =>
  ({ GET: "get", PUT: "update", PATCH: "update", DELETE: "delete" })[method] ?? method.toLowerCase();

const isParameter = (word: string) => word.startsWith("{");
const isPlural = (word: string) => word.endsWith("s") && !word.endsWith("ss");
const singular = (word: string) => word.replace(/ies$/, "y").replace(/([^s])s$/, "$1");
const pascal = (word: string) => word.replace(/(?:^|[-_])(\w)/g, (_, letter: string) => letter.toUpperCase());

import type { Call, CallInput, Reply } from "../src/calls.ts";

export type { Call, CallInput, Reply };

/** A JSON Schema in the server's description of its inputs. */
export interface Schema {
  readonly [keyword: string]: unknown;
}

type PathOf<K extends Call> = K extends `${string} /api/v1${infer P}` ? P : never;
type StartOf<P extends string> = P extends `/${infer A}/${infer B}`
  ? `/${A}` | `/${A}${StartOf<`/${B}`>}`
  : P;
type EndOf<P extends string> = P extends `/${string}/${infer B}` ? P | EndOf<`/${B}`> : P;
/** Part of the paths of operations, such as `/connections`. */
export type Address = StartOf<EndOf<PathOf<Call>>>;

export type Run = Reply<"GET /api/v1/action-runs/{run_id}">;
export type ListedRun = Reply<"GET /api/v1/action-runs">["runs"][number];
export type ActionKindInfo = Reply<"GET /api/v1/action-kinds">["kinds"][number];
export type Action = Reply<"GET /api/v1/actions/{action_id}">;
export type Connection = Reply<"GET /api/v1/connections/{connection_id}">;
export type Provider = Reply<"GET /api/v1/connection-providers">["providers"][number];
export type Overview = Reply<"GET /api/v1/overview">;
export type Automation = Reply<"GET /api/v1/automations/{automation_id}">;
export type AutomationRun = Reply<"GET /api/v1/automation-runs/{run_id}">;
export type Approval = Reply<"GET /api/v1/approvals">["items"][number];
export type Decision = Reply<"GET /api/v1/decisions">["decisions"][number];
export type Artifact = Reply<"GET /api/v1/artifacts/{artifact_id}">;
export type Template = Reply<"GET /api/v1/templates/{template_id}">;
export type ListedTemplate = Reply<"GET /api/v1/templates">["templates"][number];
export type Webhook = Reply<"GET /api/v1/webhooks/{webhook_id}">;
export type OutboundDelivery = Reply<"GET /api/v1/webhooks/{webhook_id}/deliveries">["items"][number];
export type InboundDelivery = Reply<"GET /api/v1/webhook-deliveries">["items"][number];
export type DeadLetter = Reply<"GET /api/v1/dead-letters">["items"][number];
export type TeamMember = Reply<"GET /api/v1/organizations/team">["members"][number];
export type InstallationOrganization = Reply<"GET /api/v1/installation/organizations/{organization_id}">;
export type InstallationUser = Reply<"GET /api/v1/installation/users">["items"][number];
export type AgentSpec = Reply<"GET /api/v1/agents/specs/{spec_id}">;
export type Thread = Reply<"GET /api/v1/chat/threads/{thread_id}">;
export type ChatMessage = Reply<"GET /api/v1/chat/threads/{thread_id}/messages">["items"][number];
export type CatalogSummary = Reply<"GET /api/v1/api-catalog">["items"][number];
export type CatalogEntry = Reply<"GET /api/v1/api-catalog/{api_id}">;
export type CatalogEndpoint = CatalogEntry["endpoints"][number];
export type CatalogTool = CatalogEntry["tools"][number];
export type ConnectionSignIn = Reply<"GET /api/v1/connections/{connection_id}/sign-in">;
export type SignIn = Reply<"GET /api/v1/api-catalog/{api_id}/sign-in">;
export type Discovery = Reply<"POST /api/v1/api-catalog/discover">;
export type Dataset = Reply<"GET /api/v1/datasets">["datasets"][number];
export type SavedQuery = Reply<"GET /api/v1/queries/{query_id}">;
export type Dashboard = Reply<"GET /api/v1/dashboards/{dashboard_id}">;
export type DashboardData = Reply<"GET /api/v1/dashboards/{dashboard_id}/data">;
export type SharedDashboard = Reply<"GET /api/v1/shared-dashboards/{token}">;
export type AuditEvent = Reply<"GET /api/v1/events">["items"][number];
export type EventType = AuditEvent["type"];
export type LogLine = Reply<"GET /api/v1/action-runs/{run_id}/logs">["items"][number];
export type Role = Reply<"GET /api/v1/organizations/team">["members"][number]["roleSlug"];

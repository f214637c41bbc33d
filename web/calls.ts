import type { Static, TSchema } from "@sinclair/typebox";
import type {
  AccessTokenList,
  CreatedAccessToken,
  NewAccessToken,
} from "../src/resources/access-tokens/wire.ts";
import type {
  ActionCreate,
  ActionPage,
  ActionPatch,
  ActionQuery,
  Action as ActionShape,
  RunCreate,
  StatePage,
  StateReset,
} from "../src/resources/actions/wire.ts";
import type {
  AgentSpecInput,
  AgentSpecPage,
  AgentSpecQuery,
  AgentSpec as AgentSpecShape,
} from "../src/resources/agents/wire.ts";
import type {
  CatalogPage,
  CatalogPatch,
  CatalogQuery,
  CatalogEntry as CatalogShape,
  Deletion,
  HttpApiCreate,
  McpApiCreate,
} from "../src/resources/api-catalog/wire.ts";
import type {
  DiscoveryRequest,
  DiscoveryResult,
  EndpointTest,
  EndpointTestResult,
  EntryImportResult,
  ImportRequest,
  ImportResult,
  RefreshResult,
} from "../src/resources/api-catalog/wire-import.ts";
import type { ApiKeyList, CreatedApiKey, NewApiKey } from "../src/resources/api-keys/wire.ts";
import type {
  ApprovalPage,
  ApprovalQuery,
  Approval as ApprovalShape,
} from "../src/resources/approvals/wire.ts";
import type {
  ArtifactPage,
  ArtifactQuery,
  Artifact as ArtifactShape,
} from "../src/resources/artifacts/wire.ts";
import type {
  AutomationCreate,
  AutomationPage,
  AutomationPatch,
  AutomationQuery,
  AutomationRetry,
  AutomationRunCreate,
  AutomationRunPage,
  AutomationRunQuery,
  AutomationRun as AutomationRunShape,
  Automation as AutomationShape,
} from "../src/resources/automations/wire.ts";
import type { BundleInstall, BundlePage, BundleQuery, Install } from "../src/resources/bundles/wire.ts";
import type {
  ServerSignInRequest,
  SignInRequest,
  SignInStarted,
  SignInView,
} from "../src/resources/catalog-sign-ins/wire.ts";
import type {
  BulkDelete,
  BulkDeleted,
  MessagePage,
  MessageQuery,
  ThreadCreate,
  ThreadPage,
  ThreadPatch,
  ThreadQuery,
  Thread as ThreadShape,
  TurnCancel,
  TurnInput,
} from "../src/resources/chat/wire.ts";
import type {
  ColumnList,
  ColumnQuery,
  ConnectionCreate,
  ConnectionPage,
  ConnectionPatch,
  ConnectionQuery,
  Connection as ConnectionShape,
  FileItem,
  FilePage,
  FilePreview,
  FilePreviewQuery,
  FileQuery,
  ProviderList,
  TableList,
  TablePreview,
  TablePreviewQuery,
  TableQuery,
  UploadQuery,
} from "../src/resources/connections/wire.ts";
import type {
  DatasetPage,
  DatasetQuery,
  PreviewQuery,
  Preview as PreviewShape,
} from "../src/resources/datasets/wire.ts";
import type { DeadLetterPage, DeadLetterQuery, ReplayMany } from "../src/resources/dead-letters/wire.ts";
import type { Answer, DecisionPage, DecisionQuery } from "../src/resources/decisions/wire.ts";
import type { EventFilter, EventPage, EventQuery, Verification } from "../src/resources/events/wire.ts";
import type { Delivery, DeliveryPage, DeliveryQuery, WholeDelivery } from "../src/resources/inbound/wire.ts";
import type { CreatedInvitation, InvitationList, NewInvitation } from "../src/resources/invitations/wire.ts";
import type { Meta } from "../src/resources/meta/wire.ts";
import type {
  MemberRole,
  Membership,
  NewOrganization,
  Organization,
  OrganizationChange,
  OrganizationMember,
  RoleChange,
  Team,
} from "../src/resources/organizations/wire.ts";
import type { QueryFormat, QueryRequest, QueryResult } from "../src/resources/query/wire.ts";
import type { LogPage, LogQuery, RunPage, RunQuery, Run as RunShape } from "../src/resources/runs/wire.ts";
import type { SessionList } from "../src/resources/sessions/wire.ts";
import type { Linked, LinkPreview, LinkQuery } from "../src/resources/slack/wire.ts";
import type {
  TemplateChange,
  TemplateCreate,
  TemplatePage,
  TemplateQuery,
  Template as TemplateShape,
  VersionQuery,
} from "../src/resources/templates/wire.ts";
import type { User } from "../src/resources/users/wire.ts";
import type {
  NewWebhook,
  OutboundDeliveryPage,
  OutboundDelivery as OutboundDeliveryShape,
  OutboundQuery,
  SecretRotation,
  WebhookPage,
  WebhookPatch,
  WebhookQuery,
  Webhook as WebhookShape,
  WebhookWithSecret,
  WholeOutboundDelivery,
} from "../src/resources/webhooks/wire.ts";

/** What a shape of the server is here: instants are text, JSON is `unknown` until it is looked at. */
type Of<T extends TSchema> = Static<T>;
/** Fields with a default may be left out of a request. */
type Asked<T extends TSchema> = Partial<Of<T>>;
type Nothing = null;
interface CursorQuery {
  limit?: number;
  cursor?: string;
}

export interface ActionKindInfo {
  kind: string;
  title: string;
  description: string;
  definitionSchema: Schema;
  resultSchema: Schema;
  providers: string[];
}

/** A JSON Schema as the server describes its inputs with one. */
export interface Schema {
  readonly [keyword: string]: unknown;
}

/**
 * Every operation that the page calls, by the address that the interface writes. The types are the server's
 * own; a test holds the addresses against the operations that are mounted.
 */
interface Calls {
  "GET /api/v1/meta": { reply: Of<typeof Meta> };
  "GET /api/v1/auth/methods": {
    reply: { setupRequired: boolean; password: boolean; oidc: { name: string } | null };
  };
  "POST /api/v1/auth/login": { body: { email: string; password: string }; reply: Of<typeof User> };
  "POST /api/v1/auth/logout": { reply: Nothing };
  "GET /api/v1/users/me": { reply: Of<typeof User> };
  "GET /api/v1/users/me/memberships": { reply: { items: Of<typeof Membership>[] } };
  "GET /api/v1/organizations/current": { reply: Of<typeof Organization> };
  "PATCH /api/v1/organizations/current": {
    body: Of<typeof OrganizationChange>;
    reply: Of<typeof Organization>;
  };
  "POST /api/v1/organizations": { body: Of<typeof NewOrganization>; reply: Of<typeof Organization> };
  "GET /api/v1/organizations/members": { reply: { items: Of<typeof OrganizationMember>[] } };
  "GET /api/v1/organizations/team": { reply: Of<typeof Team> };
  "PATCH /api/v1/organizations/team/members/{membership_id}/role": {
    body: Of<typeof RoleChange>;
    reply: Of<typeof MemberRole>;
  };
  "DELETE /api/v1/organizations/team/members/{membership_id}": { reply: Nothing };
  "GET /api/v1/organizations/invitations": { query: CursorQuery; reply: Of<typeof InvitationList> };
  "POST /api/v1/organizations/invitations": {
    body: Of<typeof NewInvitation>;
    reply: Of<typeof CreatedInvitation>;
  };
  "DELETE /api/v1/organizations/invitations/{invitation_id}": { reply: Nothing };
  "GET /api/v1/access-tokens": { query: CursorQuery; reply: Of<typeof AccessTokenList> };
  "POST /api/v1/access-tokens": { body: Asked<typeof NewAccessToken>; reply: Of<typeof CreatedAccessToken> };
  "DELETE /api/v1/access-tokens/{token_id}": { reply: Nothing };
  "GET /api/v1/api-keys": { query: CursorQuery; reply: Of<typeof ApiKeyList> };
  "POST /api/v1/api-keys": { body: Of<typeof NewApiKey>; reply: Of<typeof CreatedApiKey> };
  "DELETE /api/v1/api-keys/{key_id}": { reply: Nothing };
  "GET /api/v1/sessions": { query: CursorQuery; reply: Of<typeof SessionList> };
  "DELETE /api/v1/sessions": { reply: { revokedCount: number } };
  "DELETE /api/v1/sessions/{session_id}": { reply: Nothing };

  "GET /api/v1/action-kinds": { reply: { kinds: ActionKindInfo[] } };
  "GET /api/v1/actions": { query: Asked<typeof ActionQuery>; reply: Of<typeof ActionPage> };
  "POST /api/v1/actions": { body: Of<typeof ActionCreate>; reply: Of<typeof ActionShape> };
  "GET /api/v1/actions/{action_id}": { reply: Of<typeof ActionShape> };
  "PATCH /api/v1/actions/{action_id}": { body: Of<typeof ActionPatch>; reply: Of<typeof ActionShape> };
  "DELETE /api/v1/actions/{action_id}": { reply: Nothing };
  "POST /api/v1/actions/{action_id}/run": { body: Of<typeof RunCreate>; reply: Of<typeof RunShape> };
  "GET /api/v1/actions/{action_id}/state": { reply: Of<typeof StatePage> };
  "POST /api/v1/actions/{action_id}/state/reset": {
    body: Of<typeof StateReset>;
    reply: Of<typeof StatePage>;
  };

  "GET /api/v1/action-runs": { query: Asked<typeof RunQuery>; reply: Of<typeof RunPage> };
  "GET /api/v1/action-runs/{run_id}": { reply: Of<typeof RunShape> };
  "POST /api/v1/action-runs/{run_id}/cancel": { reply: Of<typeof RunShape> };
  "POST /api/v1/action-runs/{run_id}/retry": { reply: Of<typeof RunShape> };
  "GET /api/v1/action-runs/{run_id}/logs": { query: Asked<typeof LogQuery>; reply: Of<typeof LogPage> };
  "GET /api/v1/action-runs/{run_id}/stream": { reply: never };

  "GET /api/v1/connection-providers": { reply: Of<typeof ProviderList> };
  "GET /api/v1/connections": { query: Asked<typeof ConnectionQuery>; reply: Of<typeof ConnectionPage> };
  "POST /api/v1/connections": { body: Of<typeof ConnectionCreate>; reply: Of<typeof ConnectionShape> };
  "GET /api/v1/connections/{connection_id}": { reply: Of<typeof ConnectionShape> };
  "PATCH /api/v1/connections/{connection_id}": {
    body: Of<typeof ConnectionPatch>;
    reply: Of<typeof ConnectionShape>;
  };
  "DELETE /api/v1/connections/{connection_id}": { reply: Nothing };
  "POST /api/v1/connections/{connection_id}/verify": { reply: Of<typeof ConnectionShape> };
  "POST /api/v1/connections/{connection_id}/disable": { reply: Of<typeof ConnectionShape> };
  "POST /api/v1/connections/{connection_id}/reactivate": { reply: Of<typeof ConnectionShape> };
  "POST /api/v1/connections/{connection_id}/set-default": { reply: Of<typeof ConnectionShape> };
  "GET /api/v1/connections/{connection_id}/files": {
    query: Asked<typeof FileQuery>;
    reply: Of<typeof FilePage>;
  };
  "PUT /api/v1/connections/{connection_id}/files": {
    query: Of<typeof UploadQuery>;
    reply: Of<typeof FileItem>;
  };
  "GET /api/v1/connections/{connection_id}/schema/tables": {
    query: Asked<typeof TableQuery>;
    reply: Of<typeof TableList>;
  };
  "GET /api/v1/connections/{connection_id}/schema/columns": {
    query: Of<typeof ColumnQuery>;
    reply: Of<typeof ColumnList>;
  };
  "GET /api/v1/connections/{connection_id}/schema/preview": {
    query: Asked<typeof TablePreviewQuery>;
    reply: Of<typeof TablePreview>;
  };
  "GET /api/v1/connections/{connection_id}/files/preview": {
    query: Of<typeof FilePreviewQuery>;
    reply: Of<typeof FilePreview>;
  };

  "GET /api/v1/automations": { query: Asked<typeof AutomationQuery>; reply: Of<typeof AutomationPage> };
  "POST /api/v1/automations": { body: Asked<typeof AutomationCreate>; reply: Of<typeof AutomationShape> };
  "GET /api/v1/automations/{automation_id}": { reply: Of<typeof AutomationShape> };
  "PATCH /api/v1/automations/{automation_id}": {
    body: Of<typeof AutomationPatch>;
    reply: Of<typeof AutomationShape>;
  };
  "DELETE /api/v1/automations/{automation_id}": { reply: Nothing };
  "POST /api/v1/automations/{automation_id}/run": {
    body: Of<typeof AutomationRunCreate>;
    reply: Of<typeof AutomationRunShape>;
  };
  "GET /api/v1/automations/{automation_id}/runs": {
    query: Asked<typeof AutomationRunQuery>;
    reply: Of<typeof AutomationRunPage>;
  };
  "GET /api/v1/automation-runs/{run_id}": { reply: Of<typeof AutomationRunShape> };
  "POST /api/v1/automation-runs/{run_id}/cancel": { reply: Of<typeof AutomationRunShape> };
  "POST /api/v1/automation-runs/{run_id}/retry": {
    body: Asked<typeof AutomationRetry>;
    reply: Of<typeof AutomationRunShape>;
  };
  "GET /api/v1/webhook-deliveries": { query: Asked<typeof DeliveryQuery>; reply: Of<typeof DeliveryPage> };
  "GET /api/v1/webhook-deliveries/{delivery_id}": { reply: Of<typeof WholeDelivery> };
  "GET /api/v1/dead-letters": { query: Asked<typeof DeadLetterQuery>; reply: Of<typeof DeadLetterPage> };
  "POST /api/v1/dead-letters/replay": { body: Of<typeof ReplayMany>; reply: { replayed: number } };
  "POST /api/v1/dead-letters/{dead_letter_id}/replay": {
    reply: Of<typeof Delivery> | Of<typeof OutboundDeliveryShape>;
  };
  "DELETE /api/v1/dead-letters/{dead_letter_id}": { reply: Nothing };

  "GET /api/v1/webhooks": { query: Asked<typeof WebhookQuery>; reply: Of<typeof WebhookPage> };
  "POST /api/v1/webhooks": { body: Of<typeof NewWebhook>; reply: Of<typeof WebhookWithSecret> };
  "GET /api/v1/webhooks/{webhook_id}": { reply: Of<typeof WebhookShape> };
  "PATCH /api/v1/webhooks/{webhook_id}": { body: Of<typeof WebhookPatch>; reply: Of<typeof WebhookShape> };
  "DELETE /api/v1/webhooks/{webhook_id}": { reply: Nothing };
  "POST /api/v1/webhooks/{webhook_id}/test": { reply: Of<typeof OutboundDeliveryShape> };
  "POST /api/v1/webhooks/{webhook_id}/rotate-secret": {
    body: Of<typeof SecretRotation>;
    reply: Of<typeof WebhookWithSecret>;
  };
  "GET /api/v1/webhooks/{webhook_id}/deliveries": {
    query: Asked<typeof OutboundQuery>;
    reply: Of<typeof OutboundDeliveryPage>;
  };
  "GET /api/v1/webhooks/{webhook_id}/deliveries/{delivery_id}": { reply: Of<typeof WholeOutboundDelivery> };
  "POST /api/v1/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver": {
    reply: Of<typeof OutboundDeliveryShape>;
  };

  "GET /api/v1/chat-links": { query: Asked<typeof LinkQuery>; reply: Of<typeof LinkPreview> };
  "GET /api/inbound/link-callback": { query: Asked<typeof LinkQuery>; reply: Of<typeof Linked> };
  "GET /api/v1/approvals": { query: Asked<typeof ApprovalQuery>; reply: Of<typeof ApprovalPage> };
  "POST /api/v1/approvals/{approval_id}/approve": {
    body: Of<typeof Answer>;
    reply: Of<typeof ApprovalShape>;
  };
  "POST /api/v1/approvals/{approval_id}/reject": {
    body: Of<typeof Answer>;
    reply: Of<typeof ApprovalShape>;
  };
  "GET /api/v1/decisions": { query: Asked<typeof DecisionQuery>; reply: Of<typeof DecisionPage> };
  "GET /api/v1/artifacts": { query: Asked<typeof ArtifactQuery>; reply: Of<typeof ArtifactPage> };
  "GET /api/v1/artifacts/{artifact_id}": { reply: Of<typeof ArtifactShape> };
  "DELETE /api/v1/artifacts/{artifact_id}": { reply: Nothing };
  "GET /api/v1/artifacts/{artifact_id}/content": { reply: never };
  "GET /api/v1/bundles": { query: Asked<typeof BundleQuery>; reply: Of<typeof BundlePage> };
  "POST /api/v1/bundles/{slug}/install": {
    query: Of<typeof VersionQuery>;
    body: Of<typeof BundleInstall>;
    reply: Of<typeof Install>;
  };
  "GET /api/v1/templates": { query: Asked<typeof TemplateQuery>; reply: Of<typeof TemplatePage> };
  "POST /api/v1/templates": { body: Of<typeof TemplateCreate>; reply: Of<typeof TemplateShape> };
  "GET /api/v1/templates/slug/{slug}": {
    query: Of<typeof VersionQuery>;
    reply: Of<typeof TemplateShape>;
  };
  "GET /api/v1/templates/{template_id}": { reply: Of<typeof TemplateShape> };
  "PUT /api/v1/templates/{template_id}": {
    body: Of<typeof TemplateChange>;
    reply: Of<typeof TemplateShape>;
  };
  "DELETE /api/v1/templates/{template_id}": { reply: Nothing };
  "POST /api/v1/templates/{template_id}/publish": { reply: Of<typeof TemplateShape> };
  "POST /api/v1/templates/{template_id}/deprecate": { reply: Of<typeof TemplateShape> };

  "GET /api/v1/datasets": { query: Asked<typeof DatasetQuery>; reply: Of<typeof DatasetPage> };
  "GET /api/v1/datasets/{layer}/{dataset}/preview": {
    query: Asked<typeof PreviewQuery>;
    reply: Of<typeof PreviewShape>;
  };
  "DELETE /api/v1/datasets/{layer}/{dataset}": { reply: Nothing };
  "POST /api/v1/query": {
    query: Of<typeof QueryFormat>;
    body: Partial<Of<typeof QueryRequest>> & { sql: string };
    reply: Of<typeof QueryResult>;
  };

  "GET /api/v1/agents/specs": { query: Asked<typeof AgentSpecQuery>; reply: Of<typeof AgentSpecPage> };
  "POST /api/v1/agents/specs": { body: Of<typeof AgentSpecInput>; reply: Of<typeof AgentSpecShape> };
  "GET /api/v1/agents/specs/{spec_id}": { reply: Of<typeof AgentSpecShape> };
  "PATCH /api/v1/agents/specs/{spec_id}": {
    body: Of<typeof AgentSpecInput>;
    reply: Of<typeof AgentSpecShape>;
  };
  "DELETE /api/v1/agents/specs/{spec_id}": { reply: Nothing };

  "GET /api/v1/chat/threads": { query: Asked<typeof ThreadQuery>; reply: Of<typeof ThreadPage> };
  "POST /api/v1/chat/threads": { body: Of<typeof ThreadCreate>; reply: Of<typeof ThreadShape> };
  "POST /api/v1/chat/threads/bulk-delete": {
    body: Asked<typeof BulkDelete>;
    reply: Of<typeof BulkDeleted>;
  };
  "GET /api/v1/chat/threads/{thread_id}": { reply: Of<typeof ThreadShape> };
  "PATCH /api/v1/chat/threads/{thread_id}": {
    body: Of<typeof ThreadPatch>;
    reply: Of<typeof ThreadShape>;
  };
  "DELETE /api/v1/chat/threads/{thread_id}": { reply: Nothing };
  "GET /api/v1/chat/threads/{thread_id}/messages": {
    query: Asked<typeof MessageQuery>;
    reply: Of<typeof MessagePage>;
  };
  "POST /api/v1/chat/threads/{thread_id}/turns/stream": { body: Asked<typeof TurnInput>; reply: never };
  "GET /api/v1/chat/threads/{thread_id}/turns/stream": { reply: never };
  "POST /api/v1/chat/threads/{thread_id}/turns/cancel": {
    body: Of<typeof TurnCancel>;
    reply: Nothing;
  };

  "GET /api/v1/api-catalog": { query: Asked<typeof CatalogQuery>; reply: Of<typeof CatalogPage> };
  "POST /api/v1/api-catalog/discover": {
    body: Pick<Of<typeof DiscoveryRequest>, "sourceType"> & Asked<typeof DiscoveryRequest>;
    reply: Of<typeof DiscoveryResult>;
  };
  "POST /api/v1/api-catalog/ai-import": {
    body: { content: string } & Asked<typeof ImportRequest>;
    reply: Of<typeof ImportResult>;
  };
  "POST /api/v1/api-catalog/http": { body: Of<typeof HttpApiCreate>; reply: Of<typeof CatalogShape> };
  "POST /api/v1/api-catalog/mcp": { body: Of<typeof McpApiCreate>; reply: Of<typeof CatalogShape> };
  "GET /api/v1/api-catalog/{api_id}": { reply: Of<typeof CatalogShape> };
  "PATCH /api/v1/api-catalog/{api_id}": {
    body: Of<typeof CatalogPatch>;
    reply: Of<typeof CatalogShape>;
  };
  "DELETE /api/v1/api-catalog/{api_id}": { reply: Of<typeof Deletion> };
  "POST /api/v1/api-catalog/{api_id}/ai-import": {
    body: { content: string } & Asked<typeof ImportRequest>;
    reply: Of<typeof EntryImportResult>;
  };
  "POST /api/v1/api-catalog/{api_id}/refresh": { reply: Of<typeof RefreshResult> };
  "POST /api/v1/api-catalog/authorize": {
    body: { mcpUrl: string } & Asked<typeof ServerSignInRequest>;
    reply: Of<typeof SignInStarted>;
  };
  "POST /api/v1/api-catalog/{api_id}/authorize": {
    body: Of<typeof SignInRequest>;
    reply: Of<typeof SignInStarted>;
  };
  "GET /api/v1/api-catalog/{api_id}/sign-in": { reply: Of<typeof SignInView> };
  "DELETE /api/v1/api-catalog/{api_id}/sign-in": { reply: Nothing };
  "POST /api/v1/api-catalog/{api_id}/endpoints/{name}/test": {
    body: Of<typeof EndpointTest>;
    reply: Of<typeof EndpointTestResult>;
  };

  "GET /api/v1/events": { query: Asked<typeof EventQuery>; reply: Of<typeof EventPage> };
  "GET /api/v1/events/verify": { reply: Of<typeof Verification> };
  "GET /api/v1/events/stream": { query: Asked<typeof EventFilter>; reply: never };
}

export type Call = keyof Calls;
export type Reply<K extends Call> = Calls[K]["reply"];

type PathNames<P extends string> = P extends `${string}{${infer Name}}${infer Rest}`
  ? Name | PathNames<Rest>
  : never;
type WithPath<K extends Call> = [PathNames<K>] extends [never]
  ? unknown
  : { path: Record<PathNames<K>, string> };
type WithQuery<K extends Call> = Calls[K] extends { query: infer Q } ? { query?: Q } : unknown;
type WithBody<K extends Call> = Calls[K] extends { body: infer B } ? { body: B } : unknown;

/** What one call is given: the names of its path, its query, its body. */
export type Given<K extends Call> = WithPath<K> & WithQuery<K> & WithBody<K>;

export type Run = Reply<"GET /api/v1/action-runs/{run_id}">;
export type Action = Reply<"GET /api/v1/actions/{action_id}">;
export type Connection = Reply<"GET /api/v1/connections/{connection_id}">;
export type Provider = Reply<"GET /api/v1/connection-providers">["providers"][number];
export type Automation = Reply<"GET /api/v1/automations/{automation_id}">;
export type AutomationRun = Reply<"GET /api/v1/automation-runs/{run_id}">;
export type Approval = Reply<"GET /api/v1/approvals">["items"][number];
export type Decision = Reply<"GET /api/v1/decisions">["decisions"][number];
export type Artifact = Reply<"GET /api/v1/artifacts/{artifact_id}">;
export type Template = Reply<"GET /api/v1/templates/{template_id}">;
export type Webhook = Reply<"GET /api/v1/webhooks/{webhook_id}">;
export type OutboundDelivery = Reply<"GET /api/v1/webhooks/{webhook_id}/deliveries">["items"][number];
export type InboundDelivery = Reply<"GET /api/v1/webhook-deliveries">["items"][number];
export type DeadLetter = Reply<"GET /api/v1/dead-letters">["items"][number];
export type TeamMember = Reply<"GET /api/v1/organizations/team">["members"][number];
export type AgentSpec = Reply<"GET /api/v1/agents/specs/{spec_id}">;
export type Thread = Reply<"GET /api/v1/chat/threads/{thread_id}">;
export type ChatMessage = Reply<"GET /api/v1/chat/threads/{thread_id}/messages">["items"][number];
export type CatalogSummary = Reply<"GET /api/v1/api-catalog">["items"][number];
export type CatalogEntry = Reply<"GET /api/v1/api-catalog/{api_id}">;
export type CatalogEndpoint = CatalogEntry["endpoints"][number];
export type CatalogTool = CatalogEntry["tools"][number];
export type SignIn = Reply<"GET /api/v1/api-catalog/{api_id}/sign-in">;
export type Discovery = Reply<"POST /api/v1/api-catalog/discover">;
export type Dataset = Reply<"GET /api/v1/datasets">["datasets"][number];
export type AuditEvent = Reply<"GET /api/v1/events">["items"][number];
export type LogLine = Reply<"GET /api/v1/action-runs/{run_id}/logs">["items"][number];

/**
 * Every operation that the interface and the decisions name, as data: what the finished server must answer.
 * `coverage.test.ts` compares it with what is mounted.
 */

export interface Operation {
  method: string;
  /** Parameters as `{name}`; only their positions matter in a comparison. */
  path: string;
  /** The text and section that requires it. */
  source: string;
}

const TEXTS: Readonly<Record<string, string>> = {
  "interface §4 Actions": `
    GET    /api/v1/actions
    POST   /api/v1/actions
    GET    /api/v1/actions/slug/{slug}
    GET    /api/v1/actions/{action_id}
    PATCH  /api/v1/actions/{action_id}
    DELETE /api/v1/actions/{action_id}
    POST   /api/v1/actions/{action_id}/run`,
  "interface §4 Templates": `
    GET    /api/v1/templates
    POST   /api/v1/templates
    GET    /api/v1/templates/slug/{slug}
    GET    /api/v1/templates/{template_id}
    PUT    /api/v1/templates/{template_id}
    DELETE /api/v1/templates/{template_id}
    POST   /api/v1/templates/{template_id}/publish
    POST   /api/v1/templates/{template_id}/deprecate`,
  "interface §4 Approvals and decisions": `
    GET    /api/v1/approvals
    POST   /api/v1/approvals/{approval_id}/approve
    POST   /api/v1/approvals/{approval_id}/reject
    GET    /api/v1/decisions/pending
    GET    /api/v1/decisions/{decision_id}
    POST   /api/v1/decisions/{decision_id}/decide`,
  "interface §4 Organizations": `
    GET    /api/v1/organizations/members
    GET    /api/v1/organizations/team
    PATCH  /api/v1/organizations/team/members/{membership_id}/role`,
  "interface §4 Sessions": `
    GET    /api/v1/sessions
    DELETE /api/v1/sessions
    DELETE /api/v1/sessions/{session_id}`,
  "interface §4 Users": `
    GET    /api/v1/users/me
    GET    /api/v1/users/me/memberships
    PATCH  /api/v1/users/me/preferences`,
  "interface §4 API catalog": `
    GET    /api/v1/api-catalog
    POST   /api/v1/api-catalog/ai-import
    POST   /api/v1/api-catalog/discover
    POST   /api/v1/api-catalog/http
    POST   /api/v1/api-catalog/mcp
    GET    /api/v1/api-catalog/{api_id}
    PATCH  /api/v1/api-catalog/{api_id}
    DELETE /api/v1/api-catalog/{api_id}
    POST   /api/v1/api-catalog/{api_id}/ai-import`,
  "interface §4 Chat": `
    GET    /api/v1/chat/threads
    POST   /api/v1/chat/threads
    POST   /api/v1/chat/threads/bulk-delete
    GET    /api/v1/chat/threads/{thread_id}
    PATCH  /api/v1/chat/threads/{thread_id}
    DELETE /api/v1/chat/threads/{thread_id}
    GET    /api/v1/chat/threads/{thread_id}/messages
    POST   /api/v1/chat/threads/{thread_id}/turns/cancel
    POST   /api/v1/chat/threads/{thread_id}/turns/stream`,
  "interface §4 Connections": `
    GET    /api/v1/connections
    POST   /api/v1/connections
    GET    /api/v1/connections/slug/{slug}
    GET    /api/v1/connections/{connection_id}
    PATCH  /api/v1/connections/{connection_id}
    DELETE /api/v1/connections/{connection_id}
    POST   /api/v1/connections/{connection_id}/disable
    POST   /api/v1/connections/{connection_id}/reactivate
    POST   /api/v1/connections/{connection_id}/verify
    POST   /api/v1/connections/{connection_id}/set-default
    GET    /api/v1/connections/{connection_id}/files
    POST   /api/v1/connections/{connection_id}/files/validate
    GET    /api/v1/connections/{connection_id}/schema/columns
    GET    /api/v1/connections/{connection_id}/schema/tables`,
  "interface §4 Agent specs": `
    GET    /api/v1/agents/specs
    POST   /api/v1/agents/specs
    GET    /api/v1/agents/specs/{spec_id}
    PATCH  /api/v1/agents/specs/{spec_id}
    DELETE /api/v1/agents/specs/{spec_id}`,
  "interface §4 Artifacts": `
    GET    /api/v1/artifacts
    POST   /api/v1/artifacts
    GET    /api/v1/artifacts/{artifact_id}
    DELETE /api/v1/artifacts/{artifact_id}`,
  "interface §4 Bundles": `
    GET    /api/v1/bundles
    POST   /api/v1/bundles/{slug}/install`,
  "interface §4 Sync": `
    POST   /api/v1/sync/run`,
  "interface §4 Automations, access tokens, events, webhook subscriptions": `
    PATCH  /api/v1/automations/{automation_id}
    POST   /api/v1/automations
    POST   /api/v1/access-tokens
    GET    /api/v1/events
    POST   /api/v1/webhooks`,
  // The interface calls the segment {chat_provider} and fixed; decisions §11 says that it is `slack`.
  "interface §4 Inbound, health, observability": `
    GET    /api/inbound/link-callback
    POST   /api/inbound/slack/commands
    POST   /api/inbound/slack/events
    POST   /api/inbound/slack/interactions
    POST   /webhooks/{org_id}/{path}
    GET    /api/v1/health
    GET    /health
    GET    /api/v1/stream-smoke
    GET    /api/observability/smoke
    POST   /api/observability/simulate-llm-error`,
  "decisions §1": `
    GET    /openapi.json
    GET    /docs
    GET    /api/v1/meta
    GET    /metrics`,
  "decisions §3": `
    GET    /api/v1/auth/methods
    POST   /api/v1/auth/setup
    POST   /api/v1/auth/login
    POST   /api/v1/auth/logout
    GET    /api/v1/auth/oidc/start
    GET    /api/v1/auth/oidc/callback
    POST   /api/v1/auth/device/code
    POST   /api/v1/auth/device/token
    POST   /api/v1/auth/device/approve
    GET    /api/v1/access-tokens
    DELETE /api/v1/access-tokens/{token_id}
    GET    /api/v1/api-keys
    POST   /api/v1/api-keys
    DELETE /api/v1/api-keys/{key_id}
    GET    /api/v1/organizations
    POST   /api/v1/organizations
    GET    /api/v1/organizations/current
    PATCH  /api/v1/organizations/current
    GET    /api/v1/organizations/invitations
    POST   /api/v1/organizations/invitations
    DELETE /api/v1/organizations/invitations/{invitation_id}
    POST   /api/v1/auth/invitations/accept
    GET    /api/v1/users/me/invitations
    POST   /api/v1/users/me/invitations/{invitation_id}/accept
    POST   /api/v1/users/me/invitations/{invitation_id}/decline
    POST   /api/v1/auth/forgot
    POST   /api/v1/auth/reset
    PATCH  /api/v1/installation/users/{user_id}
    GET    /api/v1/installation/organizations
    GET    /api/v1/installation/organizations/{organization_id}
    PATCH  /api/v1/installation/organizations/{organization_id}
    POST   /api/v1/installation/organizations/{organization_id}/restore
    DELETE /api/v1/organizations/current
    DELETE /api/v1/organizations/team/members/{membership_id}`,
  "decisions §4": `
    GET    /api/v1/action-kinds
    GET    /api/v1/action-runs
    GET    /api/v1/action-runs/{run_id}
    POST   /api/v1/action-runs/{run_id}/cancel
    POST   /api/v1/action-runs/{run_id}/retry
    GET    /api/v1/action-runs/{run_id}/logs
    GET    /api/v1/action-runs/{run_id}/stream
    GET    /api/v1/actions/{action_id}/state
    POST   /api/v1/actions/{action_id}/state/reset
    GET    /api/v1/artifacts/{artifact_id}/content`,
  "decisions §5": `
    GET    /api/v1/datasets
    GET    /api/v1/datasets/{layer}/{dataset}/preview
    DELETE /api/v1/datasets/{layer}/{dataset}
    POST   /api/v1/query`,
  "decisions §6": `
    GET    /api/v1/connection-providers
    PUT    /api/v1/connections/{connection_id}/files`,
  "decisions §7": `
    GET    /api/v1/automations
    GET    /api/v1/automations/{automation_id}
    DELETE /api/v1/automations/{automation_id}
    POST   /api/v1/automations/{automation_id}/run
    GET    /api/v1/automations/{automation_id}/runs
    GET    /api/v1/automation-runs/{run_id}
    POST   /api/v1/automation-runs/{run_id}/cancel
    POST   /api/v1/automation-runs/{run_id}/retry
    GET    /api/v1/decisions`,
  "decisions §8": `
    GET    /api/v1/webhook-deliveries
    GET    /api/v1/webhook-deliveries/{id}
    GET    /api/v1/dead-letters
    POST   /api/v1/dead-letters/{id}/replay
    POST   /api/v1/dead-letters/replay
    DELETE /api/v1/dead-letters/{id}
    GET    /api/v1/webhooks
    GET    /api/v1/webhooks/{webhook_id}
    PATCH  /api/v1/webhooks/{webhook_id}
    DELETE /api/v1/webhooks/{webhook_id}
    POST   /api/v1/webhooks/{webhook_id}/test
    GET    /api/v1/webhooks/{webhook_id}/deliveries
    POST   /api/v1/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver
    POST   /api/v1/webhooks/{webhook_id}/rotate-secret`,
  "decisions §9": `
    GET    /api/v1/events/verify
    GET    /api/v1/events/stream`,
  "decisions §11": `
    GET    /api/v1/chat/threads/{thread_id}/turns/stream`,
};

export const operations: readonly Operation[] = Object.entries(TEXTS).flatMap(([source, lines]) =>
  lines
    .trim()
    .split("\n")
    .map((line) => {
      const [method = "", path = ""] = line.trim().split(/\s+/);
      return { method, path, source };
    }),
);

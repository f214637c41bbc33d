import { type SQL, sql } from "drizzle-orm";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import type { Context } from "../../context.ts";
import { actions } from "../actions/table.ts";
import { agentSpecs } from "../agents/table.ts";
import { apiCatalog, apiCatalogItems } from "../api-catalog/table.ts";
import { apiKeys } from "../api-keys/table.ts";
import { artifacts } from "../artifacts/table.ts";
import {
  automationDrafts,
  automationLayouts,
  automationRunConfigs,
  automationRunItems,
  automationRunResults,
  automationRuns,
  automations,
  automationVersions,
  automationWatches,
} from "../automations/table.ts";
import { bundleInstalls } from "../bundles/table.ts";
import { catalogSignIns } from "../catalog-sign-ins/table.ts";
import { chatMessages, chatThreads } from "../chat/table.ts";
import { connectionSignIns, connections } from "../connections/table.ts";
import { dashboardSubscriptions } from "../dashboard-subscriptions/table.ts";
import { dashboards } from "../dashboards/table.ts";
import { extractCursors, lakeLoads, lakeReads, lakeSchemas, lakeTables } from "../datasets/table.ts";
import { deadLetters } from "../dead-letters/table.ts";
import { decisions } from "../decisions/table.ts";
import { events, trailSeals } from "../events/table.ts";
import { deliveryAttempts, webhookDeliveries } from "../inbound/table.ts";
import { invitations } from "../invitations/table.ts";
import { savedQueries } from "../queries/table.ts";
import { actionRuns, runLogs } from "../runs/table.ts";
import { slackLinks } from "../slack/table.ts";
import { syncFiles, syncTables } from "../sync/table.ts";
import { templates } from "../templates/table.ts";
import { llmUsage } from "../usage/table.ts";
import { versions } from "../versions/table.ts";
import { outboundAttempts, outboundDeliveries, webhooks } from "../webhooks/table.ts";

/**
 * `secrets`: values whose names suggest secrets. `typed`: as definitions are shown. `config`:
 * as an automation's config.
 */
export type MaskRule = "secrets" | "typed" | "config";

/** Rows of one table, which form one file, or several if there are many. */
export interface Noun {
  /** Name of the file. */
  name: string;
  table: SQLiteTable;
  without?: readonly string[];
  mask?: Readonly<Record<string, MaskRule>>;
  /** Selects the organization's rows. */
  where?: (ctx: Context) => SQL;
  /** Columns that are exported for rows from another user's private chat. */
  shownOfPrivate?: readonly string[];
  /** Rows that belong to these, in a separate file. */
  parts?: readonly Part[];
}

interface Part {
  name: string;
  table: SQLiteTable;
  /** Column names in the database: the ID of the row that these belong to, and their order. */
  by: string;
  order: readonly string[];
  without?: readonly string[];
  mask?: Readonly<Record<string, MaskRule>>;
}

const RUN_TIMES = ["id", "kind", "status", "createdAt", "startedAt", "completedAt", "triggerMethod"];

/** Returns whether a row came from another user's private chat. */
export const isOthersPrivate = ({ actor }: Context): SQL =>
  sql`(private_to is not null and private_to <> ${actor.id})`;

/** Everything that an organization has in the database, by noun. */
export const NOUNS: readonly Noun[] = [
  { name: "invitations", table: invitations },
  { name: "api-keys", table: apiKeys },
  { name: "connections", table: connections, mask: { definition: "typed" } },
  { name: "templates", table: templates, mask: { definition: "typed" } },
  { name: "actions", table: actions, mask: { definition: "typed" } },
  {
    name: "automations",
    table: automations,
    mask: { config: "config" },
    parts: [
      {
        name: "automation-versions",
        table: automationVersions,
        by: "automation_id",
        order: ["version"],
        mask: { config: "config" },
      },
    ],
  },
  { name: "automation-watches", table: automationWatches },
  { name: "automation-drafts", table: automationDrafts, mask: { config: "config" } },
  { name: "automation-layouts", table: automationLayouts },
  { name: "agents", table: agentSpecs },
  { name: "queries", table: savedQueries },
  { name: "dashboards", table: dashboards, without: ["shareHash"] },
  { name: "dashboard-subscriptions", table: dashboardSubscriptions },
  { name: "api-catalog", table: apiCatalog },
  { name: "api-catalog-items", table: apiCatalogItems },
  { name: "catalog-sign-ins", table: catalogSignIns, without: ["client", "leaseUntil"] },
  {
    name: "connection-sign-ins",
    table: connectionSignIns,
    without: ["settingsHash", "leaseUntil"],
  },
  { name: "webhooks", table: webhooks },
  { name: "bundle-installs", table: bundleInstalls },
  { name: "versions", table: versions, mask: { content: "secrets", changes: "secrets" } },
  { name: "slack-links", table: slackLinks },
  {
    name: "action-runs",
    table: actionRuns,
    without: ["leaseToken", "leaseUntil", "bootId", "cancelRequest", "dueAt", "progressId"],
    mask: { definition: "secrets", input: "secrets" },
    shownOfPrivate: RUN_TIMES,
    parts: [{ name: "run-logs", table: runLogs, by: "run_id", order: ["seq"] }],
  },
  {
    name: "automation-runs",
    table: automationRuns,
    without: ["scope", "dueAt"],
    mask: { input: "secrets" },
    shownOfPrivate: RUN_TIMES.filter((name) => name !== "kind"),
    parts: [
      {
        name: "automation-run-items",
        table: automationRunItems,
        by: "automation_run_id",
        order: ["step_key", "item_index"],
      },
      {
        name: "automation-run-results",
        table: automationRunResults,
        by: "automation_run_id",
        order: ["step_key", "seq"],
      },
      { name: "automation-run-configs", table: automationRunConfigs, by: "automation_run_id", order: [] },
    ],
  },
  {
    name: "decisions",
    table: decisions,
    mask: { title: "secrets", description: "secrets", context: "secrets" },
    shownOfPrivate: [
      "id",
      "status",
      "decisionType",
      "subjectType",
      "subjectId",
      "decisionValue",
      "decidedBy",
      "decidedAt",
      "createdAt",
    ],
  },
  { name: "artifacts", table: artifacts, where: (ctx) => sql`not ${isOthersPrivate(ctx)}` },
  {
    name: "webhook-deliveries",
    table: webhookDeliveries,
    mask: { headers: "secrets", query: "secrets" },
    parts: [
      { name: "webhook-delivery-attempts", table: deliveryAttempts, by: "delivery_id", order: ["number"] },
    ],
  },
  { name: "dead-letters", table: deadLetters },
  {
    name: "outbound-deliveries",
    table: outboundDeliveries,
    without: ["takenBy"],
    parts: [
      { name: "outbound-delivery-attempts", table: outboundAttempts, by: "delivery_id", order: ["number"] },
    ],
  },
  {
    name: "chat-threads",
    table: chatThreads,
    where: ({ actor }) => sql`owner_id = ${actor.id}`,
  },
  {
    name: "chat-messages",
    table: chatMessages,
    where: ({ actor }) => sql`thread_id in (select id from chat_threads where owner_id = ${actor.id})`,
  },
  { name: "lake-tables", table: lakeTables, without: ["published", "publishedSnapshot"] },
  { name: "lake-schemas", table: lakeSchemas },
  { name: "lake-loads", table: lakeLoads },
  { name: "lake-reads", table: lakeReads },
  { name: "extract-cursors", table: extractCursors },
  { name: "sync-files", table: syncFiles },
  { name: "sync-tables", table: syncTables, without: ["sourceOrganizationId"] },
  { name: "llm-usage", table: llmUsage },
  { name: "event-seals", table: trailSeals, without: ["mac", "keyId"] },
  { name: "events", table: events },
];

const SERVER = "Progress of this server's own work, not useful elsewhere.";

/** Tables with rows of organizations that are left out, with the reason. */
export const LEFT_OUT: Readonly<Record<string, string>> = {
  access_tokens: "Access tokens belong to people: each exports their own.",
  automation_troubles: SERVER,
  catalog_sign_in_attempts: "Encrypted data of sign-ins in progress.",
  chat_turns: SERVER,
  connection_marks: SERVER,
  connection_quotas: SERVER,
  connection_sign_in_attempts: "Encrypted data of sign-ins in progress.",
  connection_tokens: "Sealed tokens.",
  counts: "Counts of rows that are in the archive.",
  device_codes: "Device codes belong to people.",
  authorization_codes: "Authorization codes belong to people.",
  refresh_tokens: "Refresh tokens belong to people.",
  idempotency_keys: "Replies of the last 24 hours, for clients that ask again.",
  lake_snapshots: "Data of the loads, as numbered for other engines.",
  lake_files: "The live files are in lake/; those of the past are not.",
  memberships: "In members.jsonl, with names and roles.",
  notices: SERVER,
  sessions: "Sessions belong to people.",
  slack_replies: SERVER,
  sync_copies: SERVER,
  trail_erasures: SERVER,
  trail_heads: SERVER,
  trail_redactions: "Redacted events have redactedAt; verifying them requires this server's key.",
  webhook_signatures: SERVER,
};

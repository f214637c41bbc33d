import ground from "../../migrations/0001_ground.sql" with { type: "text" };
import people from "../../migrations/0002_people.sql" with { type: "text" };
import openid from "../../migrations/0003_openid.sql" with { type: "text" };
import device from "../../migrations/0004_device.sql" with { type: "text" };
import decisions from "../../migrations/0005_decisions.sql" with { type: "text" };
import templates from "../../migrations/0006_templates.sql" with { type: "text" };
import triggers from "../../migrations/0007_triggers.sql" with { type: "text" };
import indexes from "../../migrations/0009_indexes.sql" with { type: "text" };
import webhooksOut from "../../migrations/0010_webhooks_out.sql" with { type: "text" };
import upkeep from "../../migrations/0011_upkeep.sql" with { type: "text" };
import runsByStatus from "../../migrations/0012_runs_by_status.sql" with { type: "text" };
import apiCatalog from "../../migrations/0013_api_catalog.sql" with { type: "text" };
import agents from "../../migrations/0014_agents.sql" with { type: "text" };
import lakeHistory from "../../migrations/0015_lake_history.sql" with { type: "text" };
import sync from "../../migrations/0016_sync.sql" with { type: "text" };
import slack from "../../migrations/0017_slack.sql" with { type: "text" };
import quotas from "../../migrations/0018_quotas.sql" with { type: "text" };
import catalogSignIns from "../../migrations/0019_catalog_sign_ins.sql" with { type: "text" };
import marks from "../../migrations/0020_marks.sql" with { type: "text" };
import processes from "../../migrations/0021_processes.sql" with { type: "text" };
import trustedTools from "../../migrations/0022_trusted_tools.sql" with { type: "text" };
import runStatuses from "../../migrations/0023_run_statuses.sql" with { type: "text" };
import provenPeople from "../../migrations/0024_proven_people.sql" with { type: "text" };
import secondFactor from "../../migrations/0025_second_factor.sql" with { type: "text" };
import mailedInvitations from "../../migrations/0026_mailed_invitations.sql" with { type: "text" };
import tokenScopes from "../../migrations/0027_token_scopes.sql" with { type: "text" };
import removedOrganizations from "../../migrations/0028_removed_organizations.sql" with { type: "text" };
import trailSeals from "../../migrations/0030_trail_seals.sql" with { type: "text" };
import personalData from "../../migrations/0031_personal_data.sql" with { type: "text" };
import processDeaths from "../../migrations/0033_process_deaths.sql" with { type: "text" };
import fourEyes from "../../migrations/0035_four_eyes.sql" with { type: "text" };
import connectionApproval from "../../migrations/0036_connection_approval.sql" with { type: "text" };
import webhookSenders from "../../migrations/0037_webhook_senders.sql" with { type: "text" };
import erasures from "../../migrations/0038_erasures.sql" with { type: "text" };
import privateRuns from "../../migrations/0040_private_runs.sql" with { type: "text" };
import sessionEnds from "../../migrations/0045_session_ends.sql" with { type: "text" };
import privateDecisions from "../../migrations/0046_private_decisions.sql" with { type: "text" };
import testRuns from "../../migrations/0049_test_runs.sql" with { type: "text" };
import versions from "../../migrations/0050_versions.sql" with { type: "text" };
import notices from "../../migrations/0052_notices.sql" with { type: "text" };
import noticeRecipients from "../../migrations/0053_notice_recipients.sql" with { type: "text" };
import bulkSteps from "../../migrations/0054_bulk_steps.sql" with { type: "text" };
import automationDrafts from "../../migrations/0055_automation_drafts.sql" with { type: "text" };
import connectionSignIns from "../../migrations/0056_connection_sign_ins.sql" with { type: "text" };
import catalogAuthHints from "../../migrations/0057_catalog_auth_hints.sql" with { type: "text" };
import automationRunLists from "../../migrations/0060_automation_run_lists.sql" with { type: "text" };
import savedQueries from "../../migrations/0061_saved_queries.sql" with { type: "text" };
import dashboards from "../../migrations/0062_dashboards.sql" with { type: "text" };
import overview from "../../migrations/0063_overview.sql" with { type: "text" };
import loadCounts from "../../migrations/0064_load_counts.sql" with { type: "text" };
import tags from "../../migrations/0065_tags.sql" with { type: "text" };
import lakeSnapshots from "../../migrations/0066_lake_snapshots.sql" with { type: "text" };
import authorizationCodes from "../../migrations/0070_authorization_codes.sql" with { type: "text" };
import refreshTokens from "../../migrations/0079_refresh_tokens.sql" with { type: "text" };
import catalogItemsByName from "../../migrations/0080_catalog_items_by_name.sql" with { type: "text" };
import chatSummaries from "../../migrations/0081_chat_summaries.sql" with { type: "text" };
import dashboardSubscriptions from "../../migrations/0087_dashboard_subscriptions.sql" with { type: "text" };
import dashboardShareExpiry from "../../migrations/0088_dashboard_share_expiry.sql" with { type: "text" };
import waitDeadlines from "../../migrations/0090_wait_deadlines.sql" with { type: "text" };
import slackLinks from "../../migrations/0091_slack_links.sql" with { type: "text" };
import type { Migration } from "./migrate.ts";

/** In order, and never edited once released. Imported by name so that the executable includes them. */
export const migrations: readonly Migration[] = [
  { name: "0001_ground", sql: ground },
  { name: "0002_people", sql: people },
  { name: "0003_openid", sql: openid },
  { name: "0004_device", sql: device },
  { name: "0005_decisions", sql: decisions },
  { name: "0006_templates", sql: templates },
  { name: "0007_triggers", sql: triggers },
  { name: "0009_indexes", sql: indexes },
  { name: "0010_webhooks_out", sql: webhooksOut },
  { name: "0011_upkeep", sql: upkeep },
  { name: "0012_runs_by_status", sql: runsByStatus },
  { name: "0013_api_catalog", sql: apiCatalog },
  { name: "0014_agents", sql: agents },
  { name: "0015_lake_history", sql: lakeHistory },
  { name: "0016_sync", sql: sync },
  { name: "0017_slack", sql: slack },
  { name: "0018_quotas", sql: quotas },
  { name: "0019_catalog_sign_ins", sql: catalogSignIns },
  { name: "0020_marks", sql: marks },
  { name: "0021_processes", sql: processes },
  { name: "0022_trusted_tools", sql: trustedTools },
  { name: "0023_run_statuses", sql: runStatuses },
  { name: "0024_proven_people", sql: provenPeople },
  { name: "0025_second_factor", sql: secondFactor },
  { name: "0026_mailed_invitations", sql: mailedInvitations },
  { name: "0027_token_scopes", sql: tokenScopes },
  { name: "0028_removed_organizations", sql: removedOrganizations },
  { name: "0030_trail_seals", sql: trailSeals },
  { name: "0031_personal_data", sql: personalData },
  { name: "0033_process_deaths", sql: processDeaths },
  { name: "0035_four_eyes", sql: fourEyes },
  { name: "0036_connection_approval", sql: connectionApproval },
  { name: "0037_webhook_senders", sql: webhookSenders },
  { name: "0038_erasures", sql: erasures },
  { name: "0040_private_runs", sql: privateRuns },
  { name: "0045_session_ends", sql: sessionEnds },
  { name: "0046_private_decisions", sql: privateDecisions },
  { name: "0049_test_runs", sql: testRuns },
  { name: "0050_versions", sql: versions },
  { name: "0052_notices", sql: notices },
  { name: "0053_notice_recipients", sql: noticeRecipients },
  { name: "0054_bulk_steps", sql: bulkSteps },
  { name: "0055_automation_drafts", sql: automationDrafts },
  { name: "0056_connection_sign_ins", sql: connectionSignIns },
  { name: "0057_catalog_auth_hints", sql: catalogAuthHints },
  { name: "0060_automation_run_lists", sql: automationRunLists },
  { name: "0061_saved_queries", sql: savedQueries },
  { name: "0062_dashboards", sql: dashboards },
  { name: "0063_overview", sql: overview },
  { name: "0064_load_counts", sql: loadCounts },
  { name: "0065_tags", sql: tags },
  { name: "0066_lake_snapshots", sql: lakeSnapshots },
  { name: "0070_authorization_codes", sql: authorizationCodes },
  { name: "0079_refresh_tokens", sql: refreshTokens },
  { name: "0080_catalog_items_by_name", sql: catalogItemsByName },
  { name: "0081_chat_summaries", sql: chatSummaries },
  { name: "0087_dashboard_subscriptions", sql: dashboardSubscriptions },
  { name: "0088_dashboard_share_expiry", sql: dashboardShareExpiry },
  { name: "0090_wait_deadlines", sql: waitDeadlines },
  { name: "0091_slack_links", sql: slackLinks },
];

import type { TSchema } from "@sinclair/typebox";
import * as accessTokens from "../access-tokens/wire.ts";
import * as actions from "../actions/wire.ts";
import * as agents from "../agents/wire.ts";
import * as apiCatalog from "../api-catalog/wire.ts";
import * as apiCatalogImport from "../api-catalog/wire-import.ts";
import * as apiCatalogItems from "../api-catalog/wire-items.ts";
import * as apiKeys from "../api-keys/wire.ts";
import * as approvals from "../approvals/wire.ts";
import * as artifacts from "../artifacts/wire.ts";
import * as automations from "../automations/wire.ts";
import * as allRuns from "../automations/wire-all-runs.ts";
import * as bundles from "../bundles/wire.ts";
import * as catalogSignIns from "../catalog-sign-ins/wire.ts";
import * as catalogTemplates from "../catalog-templates/wire.ts";
import * as chat from "../chat/wire.ts";
import * as clientAuthorizations from "../client-authorizations/wire.ts";
import * as connectionSignIns from "../connection-sign-ins/wire.ts";
import * as connections from "../connections/wire.ts";
import * as dashboardSubscriptions from "../dashboard-subscriptions/wire.ts";
import * as dashboards from "../dashboards/wire.ts";
import * as datasetLoads from "../dataset-loads/wire.ts";
import * as datasets from "../datasets/wire.ts";
import * as datasetProfile from "../datasets/wire-profile.ts";
import * as deadLetters from "../dead-letters/wire.ts";
import * as decisions from "../decisions/wire.ts";
import * as device from "../device/wire.ts";
import * as drafts from "../drafts/wire.ts";
import * as events from "../events/wire.ts";
import * as expressions from "../expressions/wire.ts";
import * as health from "../health/wire.ts";
import * as iceberg from "../iceberg/wire.ts";
import * as inbound from "../inbound/wire.ts";
import * as installation from "../installation/wire.ts";
import * as installationOrganizations from "../installation/wire-organizations.ts";
import * as invitations from "../invitations/wire.ts";
import * as lineage from "../lineage/wire.ts";
import * as meta from "../meta/wire.ts";
import * as notices from "../notices/wire.ts";
import * as openid from "../openid/wire.ts";
import * as organizationTokens from "../organization-tokens/wire.ts";
import * as organizations from "../organizations/wire.ts";
import * as overview from "../overview/wire.ts";
import * as passwordReset from "../password-reset/wire.ts";
import * as personalData from "../personal-data/wire.ts";
import * as queries from "../queries/wire.ts";
import * as charts from "../queries/wire-chart.ts";
import * as query from "../query/wire.ts";
import * as runs from "../runs/wire.ts";
import * as secondFactor from "../second-factor/wire.ts";
import * as sessions from "../sessions/wire.ts";
import * as signIn from "../sign-in/wire.ts";
import * as slack from "../slack/wire.ts";
import * as sync from "../sync/wire.ts";
import * as tags from "../tags/wire.ts";
import * as templates from "../templates/wire.ts";
import * as users from "../users/wire.ts";
import * as versions from "../versions/wire.ts";
import * as webhooks from "../webhooks/wire.ts";

/** The shapes of every resource. In the document, each has its name in its file. */
const WIRES: readonly object[] = [
  accessTokens,
  actions,
  agents,
  apiCatalog,
  apiCatalogImport,
  apiCatalogItems,
  catalogTemplates,
  apiKeys,
  approvals,
  artifacts,
  automations,
  allRuns,
  bundles,
  catalogSignIns,
  chat,
  connectionSignIns,
  connections,
  dashboardSubscriptions,
  dashboards,
  datasets,
  datasetLoads,
  datasetProfile,
  deadLetters,
  decisions,
  clientAuthorizations,
  device,
  drafts,
  events,
  expressions,
  health,
  iceberg,
  inbound,
  installation,
  installationOrganizations,
  invitations,
  lineage,
  meta,
  notices,
  openid,
  organizations,
  overview,
  passwordReset,
  queries,
  charts,
  query,
  runs,
  sessions,
  signIn,
  slack,
  sync,
  tags,
  templates,
  organizationTokens,
  personalData,
  secondFactor,
  users,
  versions,
  webhooks,
];

/** Names that are clear in their folder, but not in the document. */
const OUTSIDE: Readonly<Record<string, string>> = {
  Acceptance: "InvitationAcceptance",
  BulkDelete: "ChatThreadBulkDelete",
  BulkDeleted: "ChatThreadBulkDeleted",
  FrontMatter: "AgentFrontMatter",
  Message: "ChatMessage",
  MessagePage: "ChatMessagePage",
  Thread: "ChatThread",
  ThreadCreate: "ChatThreadCreate",
  ThreadPage: "ChatThreadPage",
  ThreadPatch: "ChatThreadPatch",
  TurnCancel: "ChatTurnCancel",
  TurnInput: "ChatTurnInput",
  ColumnShape: "DatasetColumn",
  Credentials: "SignInCredentials",
  Delivery: "InboundDelivery",
  DeliveryPage: "InboundDeliveryPage",
  Event: "AuditEvent",
  Health: "HealthStatus",
  Install: "BundleInstallation",
  LogPage: "ActionRunLogPage",
  Preview: "DatasetPreview",
  Run: "ActionRun",
  RunCreate: "ActionRunCreate",
  RunPage: "ActionRunPage",
  Selection: "FileSelection",
  SelectionReport: "FileSelectionReport",
  StatePage: "ActionState",
  StateReset: "ActionStateReset",
  Verification: "EventVerification",
  WholeDelivery: "InboundDeliveryDetails",
};

/** Returns the component name of a shape. Shapes of queries become parameters, not components. */
export function componentNames(): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const wire of WIRES) {
    for (const [name, shape] of Object.entries(wire)) {
      if (!isObjectShape(shape) || /(Query|Filter|Place)$/.test(name)) continue;
      const text = JSON.stringify(shape);
      if (!names.has(text)) names.set(text, OUTSIDE[name] ?? name);
    }
  }
  return names;
}

const isObjectShape = (value: unknown): value is TSchema =>
  typeof value === "object" &&
  value !== null &&
  "type" in value &&
  value.type === "object" &&
  "properties" in value;

import { MAX_DEPTH } from "../../base/json.ts";
import type { App } from "../../context.ts";
import { ACTION_KINDS } from "../../executors/contract.ts";
import { version } from "../../version.ts";
import { ACTION_STATUSES } from "../actions/table.ts";
import { API_STATUSES, ITEM_STATUSES } from "../api-catalog/table.ts";
import { AUTOMATION_STATUSES } from "../automations/table.ts";
import { TURN_STATUSES } from "../chat/table.ts";
import { CONNECTION_STATUSES } from "../connections/table.ts";
import { DECISION_STATUSES } from "../decisions/table.ts";
import { EVENT_TYPES } from "../events/table.ts";
import { PLAN_RATES } from "../inbound/gate.ts";
import { DELIVERY_STATUSES } from "../inbound/table.ts";
import { RUN_STATUSES } from "../runs/table.ts";
import { TEMPLATE_STATUSES } from "../templates/table.ts";
import { OUTBOUND_STATUSES, WEBHOOK_STATUSES } from "../webhooks/table.ts";

/** Describes what this version supports, and its limits. */
export const describeSelf = ({ config, providers, models }: App) => ({
  version,
  limits: {
    bodyBytes: config.maxBodyBytes,
    uploadBytes: 1024 ** 3,
    jsonDepth: MAX_DEPTH,
    requests: config.apiRate === null ? null : { ...config.apiRate },
    webhooks: PLAN_RATES,
    concurrentRuns: config.concurrency,
    runSeconds: 86_400,
    sqlSeconds: config.sqlTimeoutSeconds,
    sqlMemory: config.sqlMemory,
    queryRows: 10_000,
    inlineBytes: 256 * 1024,
    nameCharacters: 255,
    accessTokenDays: 365,
    cursorHours: 24,
    idempotencyHours: 24,
    retentionDays: config.retentionDays,
    retentionFailedDays: config.retentionFailedDays,
    /** Null if none is configured. Agents then can't answer. */
    model: models.configured && {
      ...models.configured,
      tokensPerDay: config.llmTokensPerDay,
      tokensPerTurn: config.llmTokensPerTurn,
      turnSeconds: config.llmTurnSeconds,
    },
  },
  actionKinds: [...ACTION_KINDS],
  providers: [...providers.keys()],
  eventTypes: [...EVENT_TYPES],
  statuses: {
    action: [...ACTION_STATUSES],
    actionRun: [...RUN_STATUSES],
    automation: [...AUTOMATION_STATUSES],
    automationRun: [...RUN_STATUSES],
    automationRunStep: [...RUN_STATUSES, "skipped"],
    apiCatalogEntry: [...API_STATUSES],
    apiCatalogTool: [...ITEM_STATUSES],
    connection: [...CONNECTION_STATUSES],
    decision: [...DECISION_STATUSES],
    template: [...TEMPLATE_STATUSES],
    webhook: [...WEBHOOK_STATUSES],
    webhookDelivery: [...DELIVERY_STATUSES],
    outboundDelivery: [...OUTBOUND_STATUSES],
    chatTurn: [...TURN_STATUSES],
    deadLetter: ["dead", "replaying", "replayed"],
  },
});

import type { AuditEvent, EventType } from "../../calls.ts";
import { useApi } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { useActionKinds } from "../base/action-kinds.ts";
import type { StatusWord } from "../base/status.tsx";
import { type EventNoun, type EventWord, partsOf } from "./type.ts";

const NOUNS: Readonly<Partial<Record<EventNoun, string>>> = {
  action: t("Action"),
  agent_spec: t("Agent"),
  artifact: t("Artifact"),
  auth: t("Access"),
  automation: t("Automation"),
  backup: t("Backup"),
  bundle: t("Bundle"),
  catalog: "API",
  chat_thread: t("Chat"),
  chat_turn: t("Answer"),
  connection: t("Connection"),
  dashboard: t("Dashboard"),
  dashboard_subscription: t("Dashboard subscription"),
  decision: t("Approval"),
  dataset: t("Dataset"),
  organization: t("Organization"),
  query: t("Saved query"),
  template: t("Template"),
  user: t("User"),
  webhook: t("Webhook"),
};

/** Names of the types of resources. */
export const nounName = (noun: string): string =>
  NOUNS[noun as EventNoun] ?? noun.replaceAll("_", " ").replace(/^./, (letter) => letter.toUpperCase());

/** Titles for what was done to a resource. */
const DONE: Readonly<Partial<Record<EventWord, (thing: string) => string>>> = {
  cancelled: (thing) => t("{thing} cancelled", { thing }),
  completed: (thing) => t("{thing} completed", { thing }),
  created: (thing) => t("{thing} created", { thing }),
  deleted: (thing) => t("{thing} deleted", { thing }),
  deprecated: (thing) => t("{thing} deprecated", { thing }),
  disabled: (thing) => t("{thing} disabled", { thing }),
  enabled: (thing) => t("{thing} enabled", { thing }),
  erased: (thing) => t("{thing} erased", { thing }),
  exported: (thing) => t("{thing} exported", { thing }),
  failed: (thing) => t("{thing} failed", { thing }),
  installed: (thing) => t("{thing} installed", { thing }),
  published: (thing) => t("{thing} published", { thing }),
  removed: (thing) => t("{thing} removed", { thing }),
  restored: (thing) => t("{thing} restored", { thing }),
  synced: (thing) => t("{thing} synced", { thing }),
  tested: (thing) => t("{thing} tested", { thing }),
  updated: (thing) => t("{thing} updated", { thing }),
  uploaded: (thing) => t("{thing} uploaded", { thing }),
};

/** Titles that don't combine a resource and a verb. */
const TITLES: Readonly<Partial<Record<EventType, string>>> = {
  "action.started": t("Run started"),
  "action.progress": t("Run progressed"),
  "action.completed": t("Run completed"),
  "action.failed": t("Run failed"),
  "action.cancelled": t("Run cancelled"),
  "agent_spec.updated": t("Agent updated"),
  "artifact.created": t("Artifact created"),
  "auth.chat_linked": t("Slack account linked"),
  "auth.chat_unlinked": t("Slack account unlinked"),
  "auth.device_approved": t("Device approved"),
  "auth.device_denied": t("Device denied"),
  "auth.client_approved": t("MCP client approved"),
  "auth.client_denied": t("MCP client denied"),
  "auth.login": t("Signed in"),
  "auth.login_failed": t("Sign-in failed"),
  "auth.logout": t("Signed out"),
  "auth.permission_granted": t("Role granted"),
  "auth.permission_revoked": t("Role revoked"),
  "automation.schedule_missed": t("Scheduled run missed"),
  "automation.stale": t("Automation stale"),
  "automation.triggered": t("Automation started"),
  "catalog.drifted": t("API tools changed"),
  "catalog.sign_in_needed": t("API sign-in required"),
  "catalog.sign_in_started": t("API sign-in started"),
  "catalog.signed_in": t("Signed in to API"),
  "catalog.signed_out": t("Signed out of API"),
  "catalog.token_refreshed": t("API token refreshed"),
  "chat_turn.started": t("Message sent"),
  "chat_turn.tool_called": t("Agent called a tool"),
  "chat_turn.waiting": t("Answer waiting for approval"),
  "connection.error": t("Connection failed"),
  "connection.sign_in_started": t("Connection sign-in started"),
  "connection.signed_in": t("Signed in to connection"),
  "connection.signed_out": t("Signed out of connection"),
  "connection.tested": t("Connection verified"),
  "connection.token_refreshed": t("Connection token refreshed"),
  "decision.requested": t("Decision requested"),
  "decision.decided": t("Decision made"),
  "decision.expired": t("Decision expired"),
  "decision.cancelled": t("Decision cancelled"),
  "organization.invitation_created": t("Invitation created"),
  "organization.invitation_withdrawn": t("Invitation revoked"),
  "webhook.dead_lettered": t("Delivery moved to dead letters"),
  "webhook.discarded": t("Dead letter discarded"),
  "webhook.replayed": t("Dead letter replayed"),
  "webhook.secret_rotated": t("Webhook secret rotated"),
};

/** Title of an event: `connection.created` → Connection created. */
export function titleOf({ type, data }: Pick<AuditEvent, "type" | "data">): string {
  const [noun, verb] = partsOf(type);
  if (noun === "auth" && verb.startsWith("token_")) {
    const thing = data.kind === "api_key" ? t("API key") : t("Access token");
    return verb === "token_created" ? t("{thing} created", { thing }) : t("{thing} revoked", { thing });
  }
  const known = TITLES[type];
  if (known) return known;
  const thing = NOUNS[noun];
  const done = DONE[verb];
  if (thing !== undefined && done) return done(thing);
  const plain = `${thing ?? noun} ${verb}`.replaceAll("_", " ");
  return plain.slice(0, 1).toUpperCase() + plain.slice(1);
}

/** Statuses whose color and shape match the event. Others are `noted`. */
const TONES: Readonly<Partial<Record<EventWord, StatusWord>>> = {
  failed: "failed",
  login_failed: "failed",
  error: "failed",
  dead_lettered: "failed",
  token_revoked: "failed",
  permission_revoked: "failed",
  deleted: "failed",
  schedule_missed: "failed",
  device_denied: "failed",
  client_denied: "failed",
  completed: "completed",
  tested: "completed",
  device_approved: "completed",
  client_approved: "completed",
  permission_granted: "completed",
  enabled: "completed",
  installed: "completed",
  published: "completed",
  cancelled: "cancelled",
  disabled: "cancelled",
  expired: "cancelled",
  invitation_withdrawn: "cancelled",
  deprecated: "cancelled",
  discarded: "cancelled",
  requested: "waiting",
  waiting: "waiting",
};

export const toneOf = (type: EventType): StatusWord => TONES[partsOf(type)[1]] ?? "noted";

/** Names of the resources of events, and titles of kinds, from the first page of each list. */
export function useSubjects(): ReadonlyMap<string, string> {
  const query = { limit: 100 };
  const actions = useApi("GET /api/v1/actions", { query });
  const automations = useApi("GET /api/v1/automations", { query });
  const connections = useApi("GET /api/v1/connections", { query });
  const kinds = useActionKinds();
  return new Map([
    ...(kinds.data?.kinds ?? []).map(({ kind, title }) => [kind, title] as const),
    ...(connections.data?.connections ?? []).map(({ id, name }) => [id, name] as const),
    ...(automations.data?.automations ?? []).map(({ id, name }) => [id, name] as const),
    ...(actions.data?.actions ?? []).map(({ id, name }) => [id, name] as const),
  ]);
}

const NAMES = ["name", "displayName", "title", "email", "tool", "bundleSlug", "url"] as const;

/** Subject and reason of an event, in one line. */
export function subjectOf({ entity, data }: AuditEvent, subjects: ReadonlyMap<string, string>): string {
  const { kind, error, message } = data as {
    kind?: unknown;
    error?: { message?: unknown };
    message?: unknown;
  };
  const values = [
    ...NAMES.map((name) => data[name]),
    subjects.get(entity.id),
    subjects.get(String(data.automationId)),
    subjects.get(String(kind)),
    entity.type === "dataset" ? entity.id : undefined,
  ];
  const texts = [values.find(isText), isText(message) ? message : error?.message];
  return texts.filter(isText).join(" · ");
}

/** The actor: a user, an automation by its name, or Weir. */
export const who = ({ actor }: AuditEvent, subjects: ReadonlyMap<string, string>): string =>
  actor.email ?? subjects.get(actor.id) ?? (actor.type === "system" ? "Weir" : actor.type);

const isText = (value: unknown): value is string => typeof value === "string" && value !== "";

/** The latest progress event of a run with the earlier ones, or any other single event. */
export interface EventText {
  event: AuditEvent;
  before: readonly AuditEvent[];
}

/** Groups the progress events of each run into one line, latest first. */
export function folded(events: readonly AuditEvent[]): readonly EventText[] {
  const ways = new Map<string, AuditEvent[]>();
  const texts: EventText[] = [];
  for (const event of events) {
    const way = event.type === "action.progress" ? ways.get(String(event.data.runId)) : undefined;
    if (way) {
      way.push(event);
      continue;
    }
    const before: AuditEvent[] = [];
    if (event.type === "action.progress") ways.set(String(event.data.runId), before);
    texts.push({ event, before });
  }
  return texts;
}

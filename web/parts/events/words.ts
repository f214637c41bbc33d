import type { AuditEvent, EventType } from "../../calls.ts";
import { useApi } from "../../data.ts";
import type { StatusWord } from "../base/status.tsx";
import { type EventNoun, type EventWord, partsOf } from "./type.ts";

/** What things are called whose name in event types is not that of people. */
const NOUNS: Readonly<Partial<Record<EventNoun, string>>> = {
  agent_spec: "Agent",
  auth: "Access",
  catalog: "API",
  chat_thread: "Chat",
  chat_turn: "Answer",
  query: "Saved query",
};

/** Sentences that are not the noun with what was done to it. */
const TITLES: Readonly<Partial<Record<EventType, string>>> = {
  "action.started": "Run started",
  "action.progress": "Run progressed",
  "action.completed": "Run completed",
  "action.failed": "Run failed",
  "action.cancelled": "Run cancelled",
  "agent_spec.updated": "Agent updated",
  "artifact.created": "Artifact created",
  "auth.chat_linked": "Slack account linked",
  "auth.device_approved": "Device approved",
  "auth.device_denied": "Device denied",
  "auth.client_approved": "MCP client approved",
  "auth.client_denied": "MCP client denied",
  "auth.login": "Signed in",
  "auth.login_failed": "Sign-in failed",
  "auth.logout": "Signed out",
  "auth.permission_granted": "Role granted",
  "auth.permission_revoked": "Role revoked",
  "automation.schedule_missed": "Scheduled run missed",
  "automation.stale": "Automation stale",
  "automation.triggered": "Automation started",
  "catalog.drifted": "API tools changed",
  "catalog.sign_in_needed": "API sign-in required",
  "catalog.sign_in_started": "API sign-in started",
  "catalog.signed_in": "Signed in to API",
  "catalog.signed_out": "Signed out of API",
  "catalog.token_refreshed": "API token refreshed",
  "chat_turn.started": "Message sent",
  "chat_turn.tool_called": "Agent called a tool",
  "chat_turn.waiting": "Answer waiting for approval",
  "connection.error": "Connection failed",
  "connection.sign_in_started": "Connection sign-in started",
  "connection.signed_in": "Signed in to connection",
  "connection.signed_out": "Signed out of connection",
  "connection.tested": "Connection verified",
  "connection.token_refreshed": "Connection token refreshed",
  "decision.requested": "Decision requested",
  "decision.decided": "Decision made",
  "decision.expired": "Decision expired",
  "decision.cancelled": "Decision cancelled",
  "organization.invitation_created": "Invitation created",
  "organization.invitation_withdrawn": "Invitation revoked",
  "webhook.dead_lettered": "Delivery moved to dead letters",
  "webhook.discarded": "Dead letter discarded",
  "webhook.replayed": "Dead letter replayed",
  "webhook.secret_rotated": "Webhook secret rotated",
};

/** What happened, in words: `connection.created` → Connection created. */
export function titleOf({ type, data }: Pick<AuditEvent, "type" | "data">): string {
  const [noun, verb] = partsOf(type);
  if (noun === "auth" && verb.startsWith("token_")) {
    const what = data.kind === "api_key" ? "API key" : "Access token";
    return `${what} ${verb === "token_created" ? "created" : "revoked"}`;
  }
  const known = TITLES[type];
  if (known) return known;
  const plain = `${NOUNS[noun] ?? noun} ${verb}`.replaceAll("_", " ");
  return plain.slice(0, 1).toUpperCase() + plain.slice(1);
}

/** Statuses that say by colour and shape what kind of event it is; of the others it is `noted`. */
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

/** Names of what events are about, and titles of kinds, as far as the first page of each list has them. */
export function useSubjects(): ReadonlyMap<string, string> {
  const query = { limit: 100 };
  const actions = useApi("GET /api/v1/actions", { query });
  const automations = useApi("GET /api/v1/automations", { query });
  const connections = useApi("GET /api/v1/connections", { query });
  const kinds = useApi("GET /api/v1/action-kinds", {}, { isFixed: true });
  return new Map([
    ...(kinds.data?.kinds ?? []).map(({ kind, title }) => [kind, title] as const),
    ...(connections.data?.connections ?? []).map(({ id, name }) => [id, name] as const),
    ...(automations.data?.automations ?? []).map(({ id, name }) => [id, name] as const),
    ...(actions.data?.actions ?? []).map(({ id, name }) => [id, name] as const),
  ]);
}

const NAMES = ["name", "displayName", "title", "email", "tool", "bundleSlug", "url"] as const;

/** Whom or what an event is about, and why it went as it did, in one line. */
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

/** Who did it: a person, an automation by its name, or Weir. */
export const who = ({ actor }: AuditEvent, subjects: ReadonlyMap<string, string>): string =>
  actor.email ?? subjects.get(actor.id) ?? (actor.type === "system" ? "Weir" : actor.type);

const isText = (value: unknown): value is string => typeof value === "string" && value !== "";

/** The newest of what a run told on its way, with those before it; every other event by itself. */
export interface EventText {
  event: AuditEvent;
  before: readonly AuditEvent[];
}

/** Folds into one line what each run told on its way; the newest is first. */
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

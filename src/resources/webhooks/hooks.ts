import { and, isNull, sql } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import type { App } from "../../context.ts";
import type { SecretBox } from "../../crypto/secretbox.ts";
import { prepared } from "../../store/prepared.ts";
import type { ReadDb } from "../../store/store.ts";
import { typesMatching } from "../events/matching.ts";
import type { EventRow, EventType } from "../events/table.ts";
import { type WebhookRow, webhookLabel, webhooks } from "./table.ts";

/** An active subscription, as deliveries go by it. */
export interface Hook {
  row: WebhookRow;
  id: string;
  organizationId: string;
  url: string;
  types: ReadonlySet<EventType>;
}

/** By their text, since subscriptions are read at each look. */
const typesByPatterns = new Map<string, ReadonlySet<EventType>>();
const MAX_KNOWN = 1_000;

const activeRows = prepared((db: ReadDb) =>
  db
    .select()
    .from(webhooks)
    .where(and(sql`${webhooks.status} = 'active'`, isNull(webhooks.deletedAt)))
    .prepare(),
);

export const readHooks = async (db: ReadDb): Promise<Hook[]> => (await activeRows(db).all()).map(hookOf);

export const hookOf = (row: WebhookRow): Hook => ({
  row,
  id: row.id,
  organizationId: row.organizationId,
  url: row.url,
  types: typesOf(row.events),
});

function typesOf(patterns: readonly string[]): ReadonlySet<EventType> {
  const text = patterns.join(" ");
  const found = typesByPatterns.get(text);
  if (found) return found;
  const types = new Set(patterns.flatMap((pattern) => typesMatching(pattern, ["events"])));
  if (typesByPatterns.size >= MAX_KNOWN) typesByPatterns.clear();
  typesByPatterns.set(text, types);
  return types;
}

/** A subscription is not told of itself. */
export const wants = (
  hook: Hook,
  event: Pick<EventRow, "organizationId" | "type" | "entityType" | "entityId">,
): boolean =>
  hook.organizationId === event.organizationId &&
  hook.types.has(event.type) &&
  !(event.entityType === "webhook" && event.entityId === hook.id);

/** The secrets that sign now, the newest first. */
export function secretsOf({ secrets, clock }: App, row: WebhookRow): string[] {
  const { sealedSecret, sealedPreviousSecret, previousUntil } = row;
  const label = webhookLabel(row);
  const sealed = [
    sealedSecret,
    previousUntil !== null && previousUntil > timestamp(clock) ? sealedPreviousSecret : null,
  ];
  return sealed.flatMap((text) => (text === null ? [] : [opened(secrets, text, label)]));
}

/** Opened once each: every delivery needs them. */
const secretsBySealed = new Map<string, string>();

function opened(secrets: SecretBox, sealed: string, label: string): string {
  const known = secretsBySealed.get(sealed);
  if (known !== undefined) return known;
  const secret = secrets.open(sealed, label);
  if (secretsBySealed.size >= MAX_KNOWN) secretsBySealed.clear();
  secretsBySealed.set(sealed, secret);
  return secret;
}

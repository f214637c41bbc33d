import { sql } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import { slot } from "../../base/memory.ts";
import type { App } from "../../context.ts";
import type { SecretBox } from "../../crypto/secretbox.ts";
import type { Secrets } from "../../crypto/signature.ts";
import type { ReadDb } from "../../store/store.ts";
import { typesStored } from "../events/matching.ts";
import type { EventRow, EventType } from "../events/table.ts";
import { type WebhookRow, webhookLabel, webhooks } from "./table.ts";

/** An active subscription, as the deliverer uses it. */
export interface Subscription {
  row: WebhookRow;
  id: string;
  organizationId: string;
  url: string;
  types: ReadonlySet<EventType>;
  /** Whether its last attempt failed. */
  isFailing: boolean;
}

/** Event types by the text of their patterns: subscriptions are read at each check. */
const typesByPatterns = new Map<string, ReadonlySet<EventType>>();
const MAX_KNOWN = 1_000;

/** One line per active subscription with all that can change in it. It is usually the same as at the last check. */
const activeLines = sql`select group_concat(line, '\n') as "lines" from (
  select id || json_array(url, events, updated_at, substr(sealed_secret, -24), substr(sealed_previous_secret, -24),
    previous_until, failing_since, after_seq, held_from, held_to) as line
  from webhooks where status = 'active' and deleted_at is null
    and organization_id not in (select id from organizations where removed_at is not null) order by id)`;
const ID_CHARACTERS = 36;

/** Reads the active subscriptions. Returns the same map while nothing has changed. */
export function subscriptionReader(db: ReadDb): () => Promise<ReadonlyMap<string, Subscription>> {
  let text: string | null = null;
  let byLine = new Map<string, Subscription>();
  let subscriptions: ReadonlyMap<string, Subscription> = new Map();
  return async () => {
    const [found] = await db.all<{ lines: string | null }>(activeLines);
    if ((found?.lines ?? null) === text) return subscriptions;
    const lines = found?.lines?.split("\n") ?? [];
    const changed = lines.filter((line) => !byLine.has(line)).map((line) => line.slice(0, ID_CHARACTERS));
    const rows = await db
      .select()
      .from(webhooks)
      .where(sql`${webhooks.id} in (select value from json_each(${JSON.stringify(changed)}))`);
    const read = new Map(rows.map((row) => [row.id, subscriptionOf(row)]));
    const known = byLine;
    byLine = new Map();
    for (const line of lines) {
      const subscription = known.get(line) ?? read.get(line.slice(0, ID_CHARACTERS));
      if (subscription?.row.status === "active" && subscription.row.deletedAt === null)
        byLine.set(line, subscription);
    }
    subscriptions = new Map([...byLine.values()].map((subscription) => [subscription.id, subscription]));
    text = found?.lines ?? null;
    return subscriptions;
  };
}

export const subscriptionOf = (row: WebhookRow): Subscription => ({
  row,
  id: row.id,
  organizationId: row.organizationId,
  url: row.url,
  types: typesOf(row.events),
  isFailing: row.failingSince !== null,
});

function typesOf(patterns: readonly string[]): ReadonlySet<EventType> {
  const text = patterns.join(" ");
  const found = typesByPatterns.get(text);
  if (found) return found;
  const types = new Set(patterns.flatMap(typesStored));
  if (typesByPatterns.size >= MAX_KNOWN) typesByPatterns.clear();
  typesByPatterns.set(text, types);
  return types;
}

/** A subscription doesn't get events about itself. */
export const wants = (
  subscription: Subscription,
  event: Pick<EventRow, "organizationId" | "type" | "entityType" | "entityId">,
): boolean =>
  subscription.organizationId === event.organizationId &&
  subscription.types.has(event.type) &&
  !(event.entityType === "webhook" && event.entityId === subscription.id);

/** The secrets that sign now. */
export function secretsOf({ secrets, clock, memory }: App, row: WebhookRow): Secrets {
  const { sealedSecret, sealedPreviousSecret, previousUntil } = row;
  if (sealedSecret === null) throw new AppError("internal", "A deleted webhook has no secret.");
  const known = memory.of(SECRETS);
  const secret = opened(known, secrets, sealedSecret, row);
  const isOver = previousUntil === null || previousUntil <= timestamp(clock);
  return isOver || sealedPreviousSecret === null
    ? [secret]
    : [secret, opened(known, secrets, sealedPreviousSecret, row)];
}

/** Cached decrypted secrets, since every delivery needs them. */
const SECRETS = slot(() => new Map<string, string>());

function opened(all: Map<string, string>, secrets: SecretBox, sealed: string, row: WebhookRow): string {
  const known = all.get(sealed);
  if (known !== undefined) return known;
  const secret = secrets.open(sealed, webhookLabel(row));
  if (all.size >= MAX_KNOWN) all.clear();
  all.set(sealed, secret);
  return secret;
}

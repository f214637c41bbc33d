import { and, eq, isNull, sql } from "drizzle-orm";
import { contains, parseCidr, sourceOf } from "../../base/cidr.ts";
import { AppError } from "../../base/errors.ts";
import type { Rate } from "../../base/limit.ts";
import type { Signals } from "../../base/signals.ts";
import type { App } from "../../context.ts";
import { gathered } from "../../store/gathered.ts";
import { prepared } from "../../store/prepared.ts";
import type { ReadDb } from "../../store/store.ts";
import type { AutomationConfig } from "../automations/config.ts";
import { authLabel, needsTimestamp } from "../automations/sender.ts";
import { automations, secretLabel, WEBHOOKS_TOPIC } from "../automations/table.ts";
import { organizations, type Plan, type WebhookRate } from "../organizations/table.ts";

/** Default requests per minute and burst. Also for an enterprise organization without its own rate limit. */
export const PLAN_RATES: Readonly<Record<Plan, Rate>> = {
  free: { perMinute: 60, burst: 10 },
  pro: { perMinute: 300, burst: 50 },
  enterprise: { perMinute: 3000, burst: 500 },
};
/**
 * Rate limit for rejected requests, per address,
 * so that forged requests can't overload the server (docs/decisions/webhooks-in.md).
 */
const REFUSED_RATE: Rate = { perMinute: 600, burst: 600 };

const webhookBy = (organization: typeof organizations.id | typeof organizations.slug) =>
  prepared((db: ReadDb) =>
    db
      .select({
        id: automations.id,
        organizationId: automations.organizationId,
        config: automations.config,
        version: automations.version,
        sealedSecret: automations.sealedSecret,
        sealedAuth: automations.sealedAuth,
        timestampRule: automations.timestampRule,
        plan: organizations.plan,
        webhookRate: organizations.webhookRate,
      })
      .from(automations)
      .innerJoin(organizations, eq(organizations.id, automations.organizationId))
      .where(
        and(
          eq(organization, sql.placeholder("organization")),
          eq(automations.webhookPath, sql.placeholder("path")),
          eq(automations.triggerType, sql.placeholder("triggerType")),
          eq(automations.status, "active"),
          isNull(automations.deletedAt),
          isNull(organizations.removedAt),
        ),
      )
      .prepare(),
  );

const webhookById = webhookBy(organizations.id);
const webhookBySlug = webhookBy(organizations.slug);

/** Concurrent requests are looked up together, by organization, path and trigger type. */
const storedWebhook = gathered(async (db, keys) => {
  const rows = keys.map(async (key) => {
    const [organization = "", path, triggerType] = JSON.parse(key) as string[];
    const statement = UUID.test(organization) ? webhookById : webhookBySlug;
    const [row] = await statement(db).all({ organization, path, triggerType });
    return row === undefined ? [] : [[key, row] as const];
  });
  return new Map((await Promise.all(rows)).flat());
});

/** An automation started by signed requests or form submissions, as intake needs it. */
export interface Webhook {
  id: string;
  organizationId: string;
  config: AutomationConfig;
  version: number;
  /** The decrypted signing secret. It never leaves the process. Null if requests aren't signed. */
  secret: string | null;
  /** Decrypted credentials of `config.auth`. Null if the sender signs. */
  proof: string | null;
  /** Whether signed requests without a timestamp are rejected. */
  needsTimestamp: boolean;
  /** Whether a request with a timestamp has arrived. */
  hasSeenTimestamp: boolean;
  plan: Plan;
  webhookRate: WebhookRate | null;
}

/** Maximum age if this process makes all changes. Otherwise, webhooks are looked up each time. */
const WEBHOOK_MAX_AGE_MS = 1_000;
const MAX_WEBHOOKS = 1_000;

/** Cached webhooks. All are discarded when any of them changes. */
interface WebhookCache {
  readonly webhooks: Map<string, { webhook: Webhook; at: number }>;
  /** Incremented when the cache is discarded, so that a lookup that began earlier isn't cached. */
  generation: number;
}

const caches = new WeakMap<Signals, WebhookCache>();

function cacheOf(app: App): WebhookCache {
  const known = caches.get(app.signals);
  if (known) return known;
  const cache: WebhookCache = { webhooks: new Map(), generation: 0 };
  app.signals.listen(WEBHOOKS_TOPIC, () => {
    cache.webhooks.clear();
    cache.generation++;
  });
  caches.set(app.signals, cache);
  return cache;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/**
 * Returns a webhook of an organization, by its ID or slug. A text in the format of an ID is never used as a slug.
 * Throws `not_found`, with the same message for every cause.
 */
export async function findWebhook(
  app: App,
  named: string,
  path: string,
  triggerType: "webhook" | "form" = "webhook",
): Promise<Webhook> {
  const organization = named.toLowerCase();
  const cache = cacheOf(app);
  const key = `${triggerType} ${organization}/${path}`;
  const known = app.store.remote ? undefined : cache.webhooks.get(key);
  const { generation } = cache;
  const now = app.clock.monotonic();
  if (known && now - known.at < WEBHOOK_MAX_AGE_MS) return known.webhook;
  const row = await storedWebhook(app.store.db, JSON.stringify([organization, path, triggerType]));
  if (!row) throw new AppError("not_found", `No active ${triggerType} at this URL.`);
  const { sealedSecret, sealedAuth, timestampRule, ...rest } = row;
  const config = row.config as AutomationConfig;
  const webhook: Webhook = {
    ...rest,
    config,
    secret: sealedSecret === null ? null : app.secrets.open(sealedSecret, secretLabel(row)),
    proof: sealedAuth === null ? null : app.secrets.open(sealedAuth, authLabel(row)),
    needsTimestamp: needsTimestamp(config, timestampRule),
    hasSeenTimestamp: timestampRule === "seen",
  };
  if (cache.webhooks.size >= MAX_WEBHOOKS) cache.webhooks.clear();
  if (cache.generation === generation) cache.webhooks.set(key, { webhook, at: now });
  return webhook;
}

/** Throws `forbidden` for an address outside of `allowedIps`. */
export function checkAddress({ config }: Webhook, address: string): void {
  const { allowedIps = [] } = config;
  if (allowedIps.length === 0) return;
  const allowed = allowedIps.some((text) => {
    const range = parseCidr(text);
    return range !== null && contains(range, address);
  });
  if (!allowed) throw new AppError("forbidden", "Your IP address isn't allowed for this webhook.");
}

/** Throws `rate_limited` if the organization's rate limit is used up. */
export function checkRate(app: App, webhook: Webhook): void {
  const rate = (webhook.plan === "enterprise" ? webhook.webhookRate : null) ?? PLAN_RATES[webhook.plan];
  limit(app, `intake:${webhook.organizationId}`, rate, "Webhook rate limit exceeded");
}

/** Counts a rejected request against its address. Throws `rate_limited` if there were too many. */
export const countRefusal = (app: App, address: string): void =>
  limit(app, `refused:${sourceOf(address)}`, REFUSED_RATE, "Too many rejected requests from this IP address");

function limit(app: App, key: string, rate: Rate, message: string): void {
  const { retryAfterSeconds } = app.limiter.take(key, rate);
  if (retryAfterSeconds > 0)
    throw new AppError("rate_limited", `${message}. Try again in ${retryAfterSeconds} seconds.`, {
      retryAfterSeconds,
    });
}

import { pathOf } from "./base/base-path.ts";
import { ConfigError } from "./base/config-error.ts";
import type { Rate } from "./base/limit.ts";
import { type Level, LOG_LEVELS } from "./base/log.ts";
import {
  bucketUrl,
  choice,
  groupRoles,
  integer,
  isCidr,
  issuer,
  list,
  maybe,
  maybeInteger,
  memory,
  proxy,
  rate,
  ratio,
  schedule,
  sender,
  site,
  smtp,
  text,
  url,
  yes,
} from "./base/setting.ts";
import { refuseHalfSettings } from "./config-pairs.ts";
import { OWN_NAMES } from "./own-names.ts";
import { PLANS, type Plan } from "./resources/organizations/table.ts";

/** Everything the operator can set (docs/decisions/one-file.md), validated. Secrets are separate, in `Secrets`. */
export interface Config {
  /** Absolute. */
  dataFolder: string;
  host: string;
  /** 0 selects a free port. */
  port: number;
  /** Null: `http://HOST:PORT`, known once the server listens. Its path is the base path (`basePathOf`). */
  baseUrl: string | null;
  /** PEM file with the certificate. Null: HTTP. */
  tlsCert: string | null;
  caCerts: string | null;
  tlsKey: string | null;
  databaseUrl: string | null;
  egressAllow: readonly string[];
  trustedProxies: readonly string[];
  /** Who can create organizations. */
  organizations: "operator" | "anyone";
  defaultPlan: Plan;
  /** Concurrent runs in this process. */
  concurrency: number;
  maxBodyBytes: number;
  /** Null: no limit. */
  apiRate: Rate | null;
  /** Seconds between attempts of an outgoing delivery. The first is 0. */
  webhookSchedule: readonly number[];
  /** Seconds within which a receiver must respond. */
  webhookTimeout: number;
  /** Seconds of continuous failures after which a subscription is disabled. */
  webhookDisableAfter: number;
  shutdownGraceSeconds: number;
  /** In DuckDB's notation, such as `1GB`. */
  sqlMemory: string;
  sqlTimeoutSeconds: number;
  /** Maximum size of a run's work directory. */
  workLimit: string;
  retentionDays: number;
  retentionFailedDays: number;
  /** `s3://BUCKET/PREFIX`; null: in the data directory. */
  lakeUrl: string | null;
  /** Endpoint of an S3-compatible store. Null for Amazon S3. */
  lakeEndpoint: string | null;
  lakeRegion: string | null;
  /** Maximum size of the copies of the bucket's files in the data directory, such as `10GB`. */
  lakeCache: string;
  /** How long past states of tables can be queried. */
  lakeHistoryDays: number;
  /** Hours between scheduled backups. 0: none. */
  backupEvery: number;
  /** Number of scheduled backups to keep. */
  backupKeep: number;
  /** `s3://BUCKET/PREFIX` for scheduled backups. Null: in the data directory. */
  backupUrl: string | null;
  /** Endpoint of an S3-compatible store. Null for Amazon S3. */
  /** File with the passphrase that encrypts backups. Null: not encrypted. */
  backupPassphraseFile: string | null;
  backupEndpoint: string | null;
  backupRegion: string | null;
  /** Sender of mails: an address, optionally with a name. */
  mailFrom: string | null;
  logLevel: Level;
  adminEmail: string | null;
  adminPasswordFile: string | null;
  /** Validates every response against its shape. For tests. */
  checkReplies: boolean;
  /** Issuer URL of the identity provider, spelled as the provider does. Null: passwords only. */
  oidcIssuer: string | null;
  oidcClientId: string | null;
  /** True: trusts the provider's email address even if the provider doesn't say whether it is verified. */
  oidcTrustEmail: boolean;
  /** Claim that lists a user's groups. */
  oidcGroupsClaim: string | null;
  /** Each is `group=organization:role`. */
  oidcGroupRoles: readonly string[];
  /** An OpenAI-compatible endpoint, without a trailing slash. Null if there is none. */
  llmBaseUrl: string | null;
  /** The model of agents that don't name another. */
  llmModel: string | null;
  /** Context size of the model in tokens. Null: reported by its endpoint. */
  modelContext: number | null;
  /** An endpoint with Anthropic's API. Null: Anthropic's own. */
  anthropicBaseUrl: string | null;
  /** A SearXNG-compatible search engine, without a trailing slash. */
  searchUrl: string | null;
  /** An endpoint with Brave's API. Null: Brave's own. */
  braveUrl: string | null;
  tavilyUrl: string | null;
  /** URL of Slack's API, for answers in threads. */
  slackApiUrl: string;
  /** Seconds that a model can be silent. */
  llmTimeoutSeconds: number;
  /** Tokens that an organization can use per day (UTC). 0: no limit. */
  llmTokensPerDay: number;
  /** True: `/metrics` needs no authentication. */
  metricsPublic: boolean;
  /** An OpenTelemetry collector for OTLP over HTTP, without a trailing slash. Null: no traces. */
  otlpUrl: string | null;
  /** Service name of this installation in traces. */
  otlpService: string;
  /** Fraction of traces that is sent, from 0 to 1. */
  otlpRatio: number;
  /** Seconds that one turn of a chat can take, without waits for people. */
  llmTurnSeconds: number;
  /** Tokens that one turn of a chat can use. 0: no limit. */
  llmTokensPerTurn: number;
}

/** Separate from `Config`, so that printing the config never shows them. */
export interface Secrets {
  /** 32 bytes in base64. Null: generated and stored in `secret.key`. */
  secretKey: string | null;
  /** The key before `secretKey`, in base64, until everything is encrypted with the new one. */
  secretKeyPrevious: string | null;
  databaseToken: string | null;
  oidcClientSecret: string | null;
  /** The mail server, with user name and password. Null: no mail is sent. */
  smtpUrl: string | null;
  /** Proxy for outgoing HTTP, with user name and password. Null: none. */
  egressProxy: string | null;
  /** Access key of the lake's bucket. */
  lakeAccessKeyId: string | null;
  lakeSecretAccessKey: string | null;
  lakeSessionToken: string | null;
  /** Access key of the bucket for backups. */
  backupAccessKeyId: string | null;
  backupSecretAccessKey: string | null;
  backupSessionToken: string | null;
  llmApiKey: string | null;
  anthropicApiKey: string | null;
  braveKey: string | null;
  slackSigningSecret: string | null;
  slackBotToken: string | null;
  tavilyKey: string | null;
  /** Headers sent to the collector, as `NAME=VALUE`, separated by commas. */
  otlpHeaders: string | null;
}

export { ConfigError };

type Sources = Readonly<Record<string, string | undefined>>;

/** Immediately, then after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h and 10 h (docs/decisions/webhooks-in.md). */
const WEBHOOK_SCHEDULE = [0, 5, 300, 1800, 7200, 18_000, 36_000, 36_000] as const;

/** Name, type and default of each setting. Those with `flag` can be set on the command line. */
export const SETTINGS = {
  dataFolder: { env: "WEIR_DATA", read: text("./weir-data") },
  host: { env: "WEIR_HOST", read: text("127.0.0.1") },
  port: { env: "WEIR_PORT", read: integer(8484, 0, 65_535) },
  baseUrl: { env: "WEIR_BASE_URL", read: site(OWN_NAMES) },
  tlsCert: { env: "WEIR_TLS_CERT", read: maybe },
  caCerts: { env: "WEIR_CA_CERTS", read: maybe },
  tlsKey: { env: "WEIR_TLS_KEY", read: maybe },
  databaseUrl: {
    env: "WEIR_DATABASE_URL",
    read: url(["postgres:", "postgresql:", "libsql:", "http:", "https:"]),
  },
  egressAllow: { env: "WEIR_EGRESS_ALLOW", read: list(null) },
  trustedProxies: { env: "WEIR_TRUSTED_PROXIES", read: list(isCidr) },
  organizations: { env: "WEIR_ORGANIZATIONS", read: choice(["operator", "anyone"] as const, "operator") },
  defaultPlan: { env: "WEIR_DEFAULT_PLAN", read: choice(PLANS, "free") },
  concurrency: { env: "WEIR_CONCURRENCY", read: integer(8, 1, 1024) },
  maxBodyBytes: { env: "WEIR_MAX_BODY_BYTES", read: integer(10 * 1024 * 1024, 1024, 1024 ** 3) },
  apiRate: { env: "WEIR_API_RATE", read: rate({ perMinute: 1200, burst: 300 }) },
  webhookSchedule: { env: "WEIR_WEBHOOK_SCHEDULE", read: schedule(WEBHOOK_SCHEDULE) },
  webhookTimeout: { env: "WEIR_WEBHOOK_TIMEOUT", read: integer(15, 1, 300) },
  webhookDisableAfter: { env: "WEIR_WEBHOOK_DISABLE_AFTER", read: integer(432_000, 1, 31_536_000) },
  shutdownGraceSeconds: { env: "WEIR_SHUTDOWN_GRACE", read: integer(30, 0, 3600) },
  sqlMemory: { env: "WEIR_SQL_MEMORY", read: memory("1GB") },
  workLimit: { env: "WEIR_WORK_LIMIT", read: memory("20GB") },
  sqlTimeoutSeconds: { env: "WEIR_SQL_TIMEOUT", read: integer(300, 1, 86_400) },
  retentionDays: { env: "WEIR_RETENTION_DAYS", read: integer(30, 1, 36_500) },
  retentionFailedDays: { env: "WEIR_RETENTION_FAILED_DAYS", read: integer(90, 1, 36_500) },
  lakeUrl: { env: "WEIR_LAKE_URL", read: bucketUrl },
  lakeEndpoint: { env: "WEIR_LAKE_ENDPOINT", read: url(["http:", "https:"]) },
  lakeRegion: { env: "WEIR_LAKE_REGION", read: maybe },
  lakeCache: { env: "WEIR_LAKE_CACHE", read: memory("10GB") },
  lakeHistoryDays: { env: "WEIR_LAKE_HISTORY_DAYS", read: integer(1, 0, 3_650) },
  backupEvery: { env: "WEIR_BACKUP_EVERY", read: integer(0, 0, 8_760) },
  backupKeep: { env: "WEIR_BACKUP_KEEP", read: integer(7, 1, 10_000) },
  backupUrl: { env: "WEIR_BACKUP_URL", read: bucketUrl },
  backupPassphraseFile: { env: "WEIR_BACKUP_PASSPHRASE_FILE", read: maybe },
  backupEndpoint: { env: "WEIR_BACKUP_ENDPOINT", read: url(["http:", "https:"]) },
  backupRegion: { env: "WEIR_BACKUP_REGION", read: maybe },
  mailFrom: { env: "WEIR_MAIL_FROM", read: sender },
  logLevel: { env: "WEIR_LOG", read: choice(LOG_LEVELS, "info") },
  adminEmail: { env: "WEIR_ADMIN_EMAIL", read: maybe },
  adminPasswordFile: { env: "WEIR_ADMIN_PASSWORD_FILE", read: maybe },
  checkReplies: { env: "WEIR_CHECK_REPLIES", read: yes },
  oidcIssuer: { env: "WEIR_OIDC_ISSUER", read: issuer },
  oidcClientId: { env: "WEIR_OIDC_CLIENT_ID", read: maybe },
  oidcTrustEmail: { env: "WEIR_OIDC_TRUST_EMAIL", read: yes },
  oidcGroupsClaim: { env: "WEIR_OIDC_GROUPS_CLAIM", read: maybe },
  oidcGroupRoles: { env: "WEIR_OIDC_GROUP_ROLES", read: groupRoles },
  llmBaseUrl: { env: "WEIR_LLM_BASE_URL", read: url(["http:", "https:"]) },
  llmModel: { env: "WEIR_LLM_MODEL", read: maybe },
  modelContext: { env: "WEIR_MODEL_CONTEXT", read: maybeInteger(1024, 100_000_000) },
  anthropicBaseUrl: { env: "ANTHROPIC_BASE_URL", read: url(["http:", "https:"]) },
  searchUrl: { env: "WEIR_SEARCH_URL", read: url(["http:", "https:"]) },
  slackApiUrl: {
    env: "WEIR_SLACK_API_URL",
    read: (value, name) => url(["http:", "https:"])(value, name) ?? "https://slack.com/api",
  },
  braveUrl: { env: "BRAVE_BASE_URL", read: url(["http:", "https:"]) },
  tavilyUrl: { env: "TAVILY_BASE_URL", read: url(["http:", "https:"]) },
  llmTimeoutSeconds: { env: "WEIR_LLM_TIMEOUT", read: integer(120, 1, 3600) },
  llmTokensPerDay: { env: "WEIR_LLM_TOKENS_PER_DAY", read: integer(0, 0, 1_000_000_000_000) },
  metricsPublic: { env: "WEIR_METRICS_PUBLIC", read: yes },
  otlpUrl: { env: "OTEL_EXPORTER_OTLP_ENDPOINT", read: url(["http:", "https:"]) },
  otlpService: { env: "OTEL_SERVICE_NAME", read: text("weir") },
  otlpRatio: { env: "OTEL_TRACES_SAMPLER_ARG", read: ratio(1) },
  llmTurnSeconds: { env: "WEIR_LLM_TURN_TIMEOUT", read: integer(900, 1, 86_400) },
  llmTokensPerTurn: { env: "WEIR_LLM_TOKENS_PER_TURN", read: integer(1_000_000, 0, 1_000_000_000) },
} satisfies {
  [K in keyof Config]: { env: string; read: (value: string | undefined, name: string) => Config[K] };
};

export const SECRETS = {
  secretKey: "WEIR_SECRET_KEY",
  secretKeyPrevious: "WEIR_SECRET_KEY_PREVIOUS",
  databaseToken: "WEIR_DATABASE_TOKEN",
  oidcClientSecret: "WEIR_OIDC_CLIENT_SECRET",
  smtpUrl: "WEIR_SMTP_URL",
  egressProxy: "WEIR_EGRESS_PROXY",
  lakeAccessKeyId: "WEIR_LAKE_ACCESS_KEY_ID",
  lakeSecretAccessKey: "WEIR_LAKE_SECRET_ACCESS_KEY",
  lakeSessionToken: "WEIR_LAKE_SESSION_TOKEN",
  backupAccessKeyId: "WEIR_BACKUP_ACCESS_KEY_ID",
  backupSecretAccessKey: "WEIR_BACKUP_SECRET_ACCESS_KEY",
  backupSessionToken: "WEIR_BACKUP_SESSION_TOKEN",
  llmApiKey: "WEIR_LLM_API_KEY",
  anthropicApiKey: "ANTHROPIC_API_KEY",
  braveKey: "BRAVE_API_KEY",
  slackSigningSecret: "WEIR_SLACK_SIGNING_SECRET",
  slackBotToken: "WEIR_SLACK_BOT_TOKEN",
  tavilyKey: "TAVILY_API_KEY",
  otlpHeaders: "OTEL_EXPORTER_OTLP_HEADERS",
} as const;

/** Environment variables of Amazon's own tools, used as a fallback for the lake's bucket and for backups. */
const AMAZON_NAMES: Readonly<Record<string, readonly string[]>> = {
  WEIR_LAKE_ENDPOINT: ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"],
  WEIR_LAKE_REGION: ["AWS_REGION", "AWS_DEFAULT_REGION"],
  WEIR_LAKE_ACCESS_KEY_ID: ["AWS_ACCESS_KEY_ID"],
  WEIR_LAKE_SECRET_ACCESS_KEY: ["AWS_SECRET_ACCESS_KEY"],
  WEIR_LAKE_SESSION_TOKEN: ["AWS_SESSION_TOKEN"],
};

/**
 * Reads settings from `flags`, then `env`, then `file` (the parsed `weir.toml`; keys as in the environment with or
 * without `WEIR_`, in any case, also as `baseUrl`). Throws `ConfigError` naming the first invalid one.
 */
export function readConfig(
  flags: Sources,
  env: Sources,
  file: Sources,
): { config: Config; secrets: Secrets } {
  const known = new Set<string>([...Object.values(SETTINGS).map((s) => s.env), ...Object.values(SECRETS)]);
  const filed = new Map(Object.entries(file).map(([key, value]) => [fileKey(key), value]));
  for (const key of filed.keys()) {
    if (!known.has(key)) throw new ConfigError(`Unknown setting in weir.toml: ${key}.`);
  }
  const setting = (name: string, flag?: string) =>
    (flag && flags[flag]) || env[name] || filed.get(name) || undefined;
  const amazons = (name: string) =>
    setting("WEIR_LAKE_URL") || name.startsWith("WEIR_BACKUP_")
      ? AMAZON_NAMES[name.replace("_BACKUP_", "_LAKE_")]?.map((each) => env[each]).find(Boolean)
      : undefined;
  const get = (name: string, flag?: string) => setting(name, flag) ?? amazons(name);
  const config = Object.fromEntries(
    Object.entries(SETTINGS).map(([key, { env: name, read }]) => [key, read(get(name, FLAGS[key]), name)]),
  ) as unknown as Config;
  const secrets = {
    secretKey: get(SECRETS.secretKey) ?? null,
    secretKeyPrevious: get(SECRETS.secretKeyPrevious) ?? null,
    databaseToken: get(SECRETS.databaseToken) ?? null,
    oidcClientSecret: get(SECRETS.oidcClientSecret) ?? null,
    smtpUrl: smtp(get(SECRETS.smtpUrl), SECRETS.smtpUrl),
    egressProxy: proxy(get(SECRETS.egressProxy), SECRETS.egressProxy),
    lakeAccessKeyId: get(SECRETS.lakeAccessKeyId) ?? null,
    lakeSecretAccessKey: get(SECRETS.lakeSecretAccessKey) ?? null,
    lakeSessionToken: get(SECRETS.lakeSessionToken) ?? null,
    backupAccessKeyId: get(SECRETS.backupAccessKeyId) ?? null,
    backupSecretAccessKey: get(SECRETS.backupSecretAccessKey) ?? null,
    backupSessionToken: get(SECRETS.backupSessionToken) ?? null,
    llmApiKey: get(SECRETS.llmApiKey) ?? null,
    anthropicApiKey: get(SECRETS.anthropicApiKey) ?? null,
    braveKey: get(SECRETS.braveKey) ?? null,
    slackSigningSecret: get(SECRETS.slackSigningSecret) ?? null,
    slackBotToken: get(SECRETS.slackBotToken) ?? null,
    tavilyKey: get(SECRETS.tavilyKey) ?? null,
    otlpHeaders: get(SECRETS.otlpHeaders) ?? null,
  };
  refuseHalfSettings(config, secrets);
  return { config, secrets };
}

/** Path on the host below which Weir is served, such as `/weir`. "" for none. */
export const basePathOf = ({ baseUrl }: Pick<Config, "baseUrl">): string => pathOf(baseUrl);

/** The scheme that the server itself uses. */
export const schemeOf = ({ tlsCert }: Pick<Config, "tlsCert">) => (tlsCert === null ? "http" : "https");

const FLAGS: Readonly<Record<string, string>> = { dataFolder: "data", host: "host", port: "port" };

const fileKey = (key: string) => {
  const parted = key.replace(/([a-z0-9])([A-Z])/g, "$1_$2");
  const upper = parted.toUpperCase().replace(/[^A-Z0-9]/g, "_");
  return /^(WEIR|ANTHROPIC|BRAVE|TAVILY|OTEL)_/.test(upper) ? upper : `WEIR_${upper}`;
};

import { type Config, ConfigError, readConfig, SECRETS, SETTINGS, type Secrets } from "../../src/config.ts";
import { table } from "./fields.ts";

type Key = keyof Config | keyof Secrets;

interface Text {
  /** What it does: a noun phrase or sentences, in Markdown. */
  about: string;
  /** Replaces the code's default if that is empty or unreadable. */
  fallback?: string;
}

const said = (about: string, fallback?: string): Text => ({
  about,
  ...(fallback === undefined ? {} : { fallback }),
});

/** Every setting by heading. The compiler finds one without a text or heading. */
const SERVER = {
  dataFolder: said("Data directory, which holds all state. Also `--data`"),
  host: said("Address to listen on. Also `--host`"),
  port: said("Port to listen on; 0 selects a free one. Also `--port`"),
  baseUrl: said(
    "Start of links and webhook addresses; may have a path. With `https`, cookies are Secure and browsers use HTTPS only (HSTS; for subdomains too if the host is a name of Weir's own, such as `weir.example.com`)",
    "`http://HOST:PORT`",
  ),
  tlsCert: said(
    "PEM file of the certificate; with it and its key [Weir serves HTTPS itself](operations.md#tls)",
  ),
  tlsKey: said("PEM file of the certificate's key"),
  trustedProxies: said("Proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` are trusted"),
  maxBodyBytes: said("Maximum size of a request body, in bytes; uploads may have 1 GiB", "10485760 (10 MiB)"),
  apiRate: said("Requests per minute and burst of each credential", "`1200:300`"),
  shutdownGraceSeconds: said("Seconds that running work gets after SIGTERM"),
  logLevel: said("Least level of log lines: JSON on standard error, readable lines on a terminal"),
  metricsPublic: said(
    "Opens `/metrics` to everyone; otherwise it answers operators, and callers on the same machine",
  ),
  checkReplies: said("Checks each reply against its schema before it is sent; for tests"),
} satisfies Partial<Record<Key, Text>>;

const STORE = {
  secretKey: said("32 bytes in base64 that encrypt credentials", "generated in `secret.key`"),
  secretKeyPrevious: said("Previous key, while secrets are encrypted with the new one"),
  databaseUrl: said(
    "Database server: [PostgreSQL](several-processes.md#postgresql) 16 or newer as `postgres://USER:PASSWORD@HOST/DATABASE`, or a libSQL server. [Several processes](several-processes.md) can then share the work",
    "a file in the data directory",
  ),
  databaseToken: said("Token of the libSQL server"),
  lakeUrl: said(
    "Stores datasets in a bucket; see [Datasets in a bucket](#datasets-in-a-bucket)",
    "`lake/` in the data directory",
  ),
  lakeAccessKeyId: said("Key ID of the lake's bucket"),
  lakeSecretAccessKey: said("Secret key of the lake's bucket"),
  lakeSessionToken: said("Session token of the lake's bucket, for temporary keys"),
  lakeRegion: said("Region of the lake's bucket", "`us-east-1`"),
  lakeEndpoint: said("Address of a store other than Amazon's; may be private", "Amazon S3"),
  lakeCache: said("Size of the local copies of files that were read; the least recently used go first"),
  lakeHistoryDays: said("Days that `AS OF` queries can go back"),
  backupEvery: said("Hours between scheduled backups; 0 makes none"),
  backupKeep: said("Number of scheduled backups to keep"),
  backupUrl: said(
    "Stores scheduled backups in a bucket; see [Backups in a bucket](#backups-in-a-bucket)",
    "`backups/` in the data directory",
  ),
  backupAccessKeyId: said("Key ID of the bucket for backups"),
  backupSecretAccessKey: said("Secret key of the bucket for backups"),
  backupSessionToken: said("Session token of the bucket for backups, for temporary keys"),
  backupRegion: said("Region of the bucket for backups", "`us-east-1`"),
  backupEndpoint: said("Address of a store other than Amazon's; may be private", "Amazon S3"),
  backupPassphraseFile: said(
    "File with a passphrase that encrypts backups, in the format of [age](https://age-encryption.org). Keep a copy elsewhere",
  ),
  retentionDays: said("Days that completed runs and deliveries are kept; events are kept forever"),
  retentionFailedDays: said("Days that failed runs and deliveries are kept"),
} satisfies Partial<Record<Key, Text>>;

const RUNS = {
  concurrency: said("Runs at a time in one process; with several organizations, one may use half"),
  sqlMemory: said("Memory of one SQL statement"),
  sqlTimeoutSeconds: said("Seconds that one SQL statement may take"),
  workLimit: said("Disk space of one run; a tenth of the free space stays free"),
  webhookSchedule: said(
    "Seconds before each attempt of an outgoing delivery, counted from the attempt before",
  ),
  webhookTimeout: said("Seconds that a receiver has to answer"),
  webhookDisableAfter: said("Seconds of failures only after which an outgoing webhook is disabled"),
} satisfies Partial<Record<Key, Text>>;

const NETWORK = {
  egressAllow: said(
    "Private CIDR ranges and host names, each with an optional `:port`, that Weir may connect to; separated by commas",
  ),
  egressProxy: said(
    "Proxy of outgoing HTTP, except to private addresses and what `WEIR_EGRESS_ALLOW` names; databases, SFTP and mail don't use it",
  ),
  caCerts: said(
    "PEM file of additional certificate authorities, trusted by every outgoing TLS connection: databases, S3, HTTP, MCP, OpenID, mail",
  ),
} satisfies Partial<Record<Key, Text>>;

const PEOPLE = {
  adminEmail: said("Email address of the owner to create at the first start"),
  adminPasswordFile: said("File with the owner's password"),
  organizations: said("Who may create organizations"),
  defaultPlan: said("Plan of new organizations"),
  oidcIssuer: said("OpenID Connect provider for [single sign-on](#single-sign-on)"),
  oidcClientId: said("Weir's client ID at the provider"),
  oidcClientSecret: said("Weir's client secret at the provider"),
  oidcTrustEmail: said("Accepts addresses that the provider doesn't mark as verified or unverified"),
  oidcGroupsClaim: said("Claim that lists a user's groups"),
  oidcGroupRoles: said("Role that each group gives"),
  smtpUrl: said("[Mail server](#mail)"),
  mailFrom: said("Sender of mails"),
} satisfies Partial<Record<Key, Text>>;

const MODELS = {
  llmBaseUrl: said("OpenAI-compatible endpoint for agents; `ANTHROPIC_API_KEY` alone works too"),
  llmApiKey: said("Key of that endpoint"),
  llmModel: said("Model that agents use unless they name another"),
  anthropicApiKey: said("Key of Anthropic's API"),
  anthropicBaseUrl: said("Another address of that API, such as a gateway", "Anthropic's own"),
  modelContext: said(
    "Tokens that the model takes; a chat thread is shortened and summarized to fit",
    "asked of the endpoint, else `8192`",
  ),
  llmTimeoutSeconds: said("Seconds that a model may be silent"),
  llmTurnSeconds: said("Seconds that one chat turn may take; time that it waits for people doesn't count"),
  llmTokensPerTurn: said("Tokens of one chat turn; 0 sets no limit"),
  llmTokensPerDay: said("Tokens of an organization and a day (UTC); 0 sets no limit"),
  searchUrl: said("SearXNG-compatible search engine; or set one of the next two keys"),
  braveKey: said("Key of Brave Search"),
  tavilyKey: said("Key of Tavily"),
  braveUrl: said("Another address of Brave's API", "Brave's own"),
  tavilyUrl: said("Another address of Tavily's API", "Tavily's own"),
  slackSigningSecret: said("Accepts Slack commands and buttons at `/api/inbound/slack/…`"),
  slackBotToken: said("Token that replies to mentions in Slack"),
  slackApiUrl: said("Another address of Slack's API"),
} satisfies Partial<Record<Key, Text>>;

const TRACES = {
  otlpUrl: said("Collector that receives [traces](operations.md#traces) by OTLP over HTTP"),
  otlpHeaders: said("Headers for the collector: `NAME=VALUE`, separated by commas"),
  otlpService: said("Name of this installation in traces"),
  otlpRatio: said("Share of traces to send"),
} satisfies Partial<Record<Key, Text>>;

const GROUPS = {
  Server: SERVER,
  "Store, lake and backups": STORE,
  "Runs and limits": RUNS,
  Network: NETWORK,
  "People and organizations": PEOPLE,
  "Models, search and Slack": MODELS,
  Traces: TRACES,
};

/** All of them. The type checks completeness. */
const TEXTS: Readonly<Record<Key, Text>> = {
  ...{ ...SERVER, ...STORE, ...RUNS, ...NETWORK, ...PEOPLE, ...MODELS, ...TRACES },
};

const nameOf = (key: Key): string =>
  key in SETTINGS ? SETTINGS[key as keyof Config].env : SECRETS[key as keyof Secrets];

/** Returns the accepted values that a setting's error lists for an invalid text. Empty if any text is valid. */
function acceptedBy(name: string): string {
  try {
    readConfig({}, { [name]: "?" }, {});
    return "";
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const [, accepted = ""] = /^Invalid .*?\. Use (.+?)\.(?:\s|$)/s.exec(error.message) ?? [];
    return accepted.replaceAll("<", "&lt;").replace(/\w+:\/\/[^\s;,]*/g, "`$&`");
  }
}

function fallbackOf(key: Key): string {
  const { fallback } = TEXTS[key];
  if (fallback !== undefined || !(key in SETTINGS)) return fallback ?? "";
  const value = readConfig({}, {}, {}).config[key as keyof Config];
  const text = Array.isArray(value) ? value.join(",") : String(value ?? "");
  return text === "" ? "" : `\`${text}\``;
}

/** Every setting in `src/config.ts`, one table per heading. */
export const settingTables = (): string =>
  Object.entries(GROUPS)
    .map(([title, texts]) => {
      const rows = (Object.keys(texts) as Key[]).map((key) => {
        const name = nameOf(key);
        return [`\`${name}\``, fallbackOf(key), acceptedBy(name), TEXTS[key].about];
      });
      return `### ${title}\n\n${table(["setting", "default", "accepts", "meaning"], rows)}`;
    })
    .join("\n\n");

import { join } from "node:path";
import { type Clock, systemClock } from "./base/clock.ts";
import { type EgressOptions, openEgress } from "./base/egress.ts";
import { AppError } from "./base/errors.ts";
import { type Ids, systemIds } from "./base/ids.ts";
import { openLimiter } from "./base/limit.ts";
import type { Log } from "./base/log.ts";
import { openOpenId } from "./base/openid.ts";
import { openSignals } from "./base/signals.ts";
import { openCharts } from "./charts/charts.ts";
import { type Config, ConfigError, type Secrets } from "./config.ts";
import type { App } from "./context.ts";
import { openKeys } from "./engine/keys.ts";
import { executors } from "./executors/registry.ts";
import { type DataFolder, openDataFolder } from "./folder.ts";
import { openBucketLake } from "./lake/bucket.ts";
import type { Lake } from "./lake/contract.ts";
import { openFolderLake } from "./lake/folder.ts";
import { openModels } from "./models/registry.ts";
import { providers } from "./providers/registry.ts";
import { openReader } from "./reader/reader.ts";
import { openSearch } from "./search/search.ts";
import { bytesOf, openSql } from "./sql/sql.ts";
import { migrations } from "./store/migrations.ts";
import { installationId } from "./store/settings.ts";
import { openRemoteStore, openStore, type Store } from "./store/store.ts";

/** What a process is built from. */
export interface Parts {
  config: Config;
  secrets: Secrets;
  log: Log;
  /** The command that starts this program; its hidden children are subcommands of it. */
  self: readonly string[];
  clock?: Clock;
  ids?: Ids;
  /** Tests put in or leave out what they turn by hand. */
  overrides?: Partial<App>;
}

export interface Opened {
  app: App;
  /** Tells the app where it listens, once it does. */
  listensOn(address: { host: string; port: number }): void;
  /** Aborts `app.stopping`, or `app.closing` after it. */
  tell(phase: "stopping" | "closing"): void;
  close(): Promise<void>;
}

/** Builds the one `App` of this process. The only place where things are newed up. */
export async function openApp(parts: Parts): Promise<Opened> {
  const { config, secrets, log, clock = systemClock, ids = systemIds } = parts;
  const folder = openDataFolder(config.dataFolder);
  try {
    return await build(folder, { ...parts, config, secrets, log, clock, ids });
  } catch (error) {
    folder.unlock();
    throw error;
  }
}

async function build(folder: DataFolder, parts: Parts & { clock: Clock; ids: Ids }): Promise<Opened> {
  const { config, secrets, log, self, clock, ids, overrides = {} } = parts;
  const store = await storeOf(folder, config, secrets, clock);
  const box = await openKeys(store, folder.path, secrets, ids);
  const sql = openSql({
    self: [...self, "__sql"],
    folder: join(folder.scratch, "sql"),
    memory: config.sqlMemory,
    timeoutMs: config.sqlTimeoutSeconds * 1000,
    cacheDir: join(folder.scratch, "cache"),
  });
  let listening: { host: string; port: number } | null = null;
  const phases = { stopping: new AbortController(), closing: new AbortController() };
  const egress = {
    allow: config.egressAllow,
    self: () => (listening ? { address: listening.host, port: listening.port } : null),
    clock,
  };
  const app: App = {
    config,
    baseUrl: () =>
      config.baseUrl ?? `http://${hostOf(listening?.host ?? config.host)}:${listening?.port ?? config.port}`,
    store,
    clock,
    ids,
    log,
    secrets: box,
    egress: openEgress(egress),
    models: openModels({
      baseUrl: config.llmBaseUrl,
      apiKey: secrets.llmApiKey,
      model: config.llmModel,
      anthropicUrl: config.anthropicBaseUrl,
      anthropicKey: secrets.anthropicApiKey,
      silenceMs: config.llmTimeoutSeconds * 1000,
      egress,
      clock,
    }),
    slack: { signingSecret: secrets.slackSigningSecret, botToken: secrets.slackBotToken },
    openid: providerOf(config, secrets, egress, clock),
    sql,
    charts: openCharts(self),
    reader: openReader(self),
    search: openSearch({
      searxngUrl: config.searchUrl,
      braveKey: secrets.braveKey,
      braveUrl: config.braveUrl,
      tavilyKey: secrets.tavilyKey,
      tavilyUrl: config.tavilyUrl,
      egress,
    }),
    lake: await lakeOf({ folder, config, secrets, store, clock, ids, egress, signal: phases.closing.signal }),
    signals: openSignals(),
    limiter: openLimiter(clock),
    providers,
    executors,
    filesFolder: folder.files,
    artifactsFolder: folder.artifacts,
    self,
    bootId: ids.uuid(),
    stopping: phases.stopping.signal,
    closing: phases.closing.signal,
    ...overrides,
  };
  return {
    app,
    listensOn(address) {
      listening = address;
    },
    tell: (phase) => phases[phase].abort(),
    async close() {
      await sql.close();
      await store.close();
      folder.unlock();
    },
  };
}

/** After the statement's own time a copy of a file is kept for the work around it. */
const COPY_GRACE_MS = 10 * 60 * 1000;

interface LakeParts {
  folder: DataFolder;
  config: Config;
  secrets: Secrets;
  store: Store;
  clock: Clock;
  ids: Ids;
  egress: EgressOptions;
  signal: AbortSignal;
}

/** The lake of the data directory, or of the bucket that is set. Throws `ConfigError` where that can't be used. */
async function lakeOf({ folder, config, secrets, store, egress, ...parts }: LakeParts): Promise<Lake> {
  const { lakeUrl, lakeEndpoint, lakeRegion } = config;
  const { lakeAccessKeyId: accessKeyId, lakeSecretAccessKey: secretAccessKey, lakeSessionToken } = secrets;
  if (lakeUrl === null || accessKeyId === null || secretAccessKey === null)
    return openFolderLake(folder.lake);
  const [bucket = "", ...prefix] = lakeUrl.replace("s3://", "").split("/");
  const allow = lakeEndpoint === null ? [] : [new URL(lakeEndpoint).host];
  const lake = openBucketLake({
    ...parts,
    config: {
      bucket,
      prefix: prefix.join("/"),
      ...(lakeEndpoint ? { endpointUrl: lakeEndpoint } : {}),
      ...(lakeRegion ? { region: lakeRegion } : {}),
    },
    credentials: {
      accessKeyId,
      secretAccessKey,
      ...(lakeSessionToken ? { sessionToken: lakeSessionToken } : {}),
    },
    folder: join(folder.scratch, "lake"),
    cacheBytes: bytesOf(config.lakeCache),
    graceMs: config.sqlTimeoutSeconds * 1000 + COPY_GRACE_MS,
    egress: openEgress({ ...egress, allow: [...egress.allow, ...allow] }), // who sets the endpoint may reach it
  });
  try {
    await lake.claim(await installationId(store, parts.ids));
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    await store.close();
    throw new ConfigError(`WEIR_LAKE_URL: ${error.message}`);
  }
  return lake;
}

/** Null where none is set; of its three settings none stands alone. */
function providerOf(config: Config, secrets: Secrets, egress: EgressOptions, clock: Clock) {
  const { oidcIssuer: issuer, oidcClientId: clientId } = config;
  const { oidcClientSecret: clientSecret } = secrets;
  if (issuer === null || clientId === null || clientSecret === null) return null;
  return openOpenId({ issuer, clientId, clientSecret, egress, clock });
}

const hostOf = (host: string) =>
  host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host.includes(":") ? `[${host}]` : host;

function storeOf(folder: DataFolder, config: Config, secrets: Secrets, clock: Clock): Promise<Store> {
  return config.databaseUrl === null
    ? openStore({ path: folder.database, migrations, backupsFolder: folder.backups, clock })
    : openRemoteStore({
        url: config.databaseUrl,
        token: secrets.databaseToken ?? undefined,
        migrations,
        clock,
      });
}

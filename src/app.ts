import { mkdirSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { readAuthorities, trustAuthorities } from "./authorities.ts";
import { type Clock, type CorrectableClock, correctable, systemClock } from "./base/clock.ts";
import { type EgressOptions, openEgress } from "./base/egress.ts";
import { type Ids, idsBy } from "./base/ids.ts";
import { openLimiter } from "./base/limit.ts";
import type { Log } from "./base/log.ts";
import { openMemory } from "./base/memory.ts";
import { openOpenId } from "./base/openid.ts";
import { openSemaphore } from "./base/semaphore.ts";
import { withoutSecrets } from "./base/setting.ts";
import { openSignals } from "./base/signals.ts";
import type { ReachablePaths } from "./base/walls.ts";
import { openCharts } from "./charts/charts.ts";
import { openCompute } from "./compute/compute.ts";
import { type Config, type Secrets, schemeOf } from "./config.ts";
import type { App } from "./context.ts";
import { openKeys } from "./engine/keys.ts";
import { openTracer } from "./engine/tracer.ts";
import { openTrail } from "./engine/trail.ts";
import { executors } from "./executors/registry.ts";
import { runFollowers } from "./flows/run-followers.ts";
import { type DataFolder, openDataFolder } from "./folder.ts";
import { checkInstallation, locationsOf, readInstallation, recordInstallation } from "./installation.ts";
import { awayFrom } from "./lake/away-from.ts";
import { WORK } from "./lake/folder.ts";
import { openSmtp } from "./mail/smtp.ts";
import { openModels } from "./models/registry.ts";
import { hasFiles, hasIn, openLake } from "./open-lake.ts";
import { ownServices } from "./own-services.ts";
import { providers } from "./providers/registry.ts";
import { openReader } from "./reader/reader.ts";
import { openOrganizationEgress } from "./resources/organizations/egress.ts";
import { openScripts } from "./scripts/scripts.ts";
import { openSearch } from "./search/search.ts";
import { openSheets } from "./sheets/sheets.ts";
import { openSql } from "./sql/sql.ts";
import { migrations } from "./store/migrations.ts";
import { Peers, setClock } from "./store/peers.ts";
import { refuseMoved } from "./store/settings.ts";
import { shareSignals } from "./store/shared-signals.ts";
import { openRemoteStore, openStore, type Store, type Workers } from "./store/store.ts";
import { version } from "./version.ts";

/** What a process is built from. */
export interface Parts {
  config: Config;
  secrets: Secrets;
  log: Log;
  /** The command that starts this program. Its child processes use hidden subcommands of it. */
  self: readonly string[];
  clock?: Clock;
  ids?: Ids;
  /** Source of the local store's threads. By default, it starts and ends its own. */
  workers?: Workers;
  /** If false, no DuckDB process starts before there is a statement for it. */
  isSqlKeptWarm?: boolean;
  /** Replacements for tests. */
  overrides?: Partial<App>;
}

export interface Opened {
  app: App;
  /** Sets the address on which the server listens. */
  listensOn(address: { host: string; port: number }): void;
  /** Aborts `app.stopping`, and later `app.closing`. */
  tell(phase: "stopping" | "closing"): void;
  close(): Promise<void>;
}

/**
 * Builds the only `App` of this process, and all its parts.
 * Throws `ConfigError` if the settings differ from those that the data directory depends on, unless `accepted`.
 */
export async function openApp(parts: Parts, { accepted = false } = {}): Promise<Opened> {
  const { config } = parts;
  if (!accepted) checkInstallation(parts);
  const isShared = config.databaseUrl !== null;
  const clock = correctable(parts.clock ?? systemClock);
  const ids = parts.ids ?? idsBy(clock);
  const folder = openDataFolder(config.dataFolder, { isShared, ids });
  let store: Store | null = null;
  let peers: Peers | null = null;
  try {
    store = await storeOf(folder, { ...parts, clock });
    await refuseMoved(store.db);
    const { lake: knownLake, lakeEndpoint } = readInstallation(folder.path);
    const isLakeNew = !accepted && (knownLake === undefined || lakeEndpoint === undefined);
    const ground = { ...parts, folder, store, clock, ids, isLakeNew };
    peers = store.remote ? await openPeers(ground) : null;
    const opened = await build({ ...ground, peers });
    const { lake, ...others } = locationsOf(config);
    // If processes share only a database, the lake can be in another process's data directory.
    const isElsewhere = isLakeNew && isShared && lake === null && !(await hasFiles(store, hasIn(folder)));
    const facts = { ...others, ...(isElsewhere ? {} : { lake }), keyId: opened.app.secrets.keyId };
    recordInstallation(folder.path, facts);
    return opened;
  } catch (error) {
    await peers?.leave().catch(() => undefined); // the others notice that it left in any case
    await store?.close();
    folder.unlock();
    throw error;
  }
}

/** Memory for concurrent responses of external systems, in MiB. One run can use up to 100. */
const ROOM_MIB = 100;

interface Ground extends Parts {
  folder: DataFolder;
  store: Store;
  peers: Peers | null;
  clock: CorrectableClock;
  ids: Ids;
  /** True if it isn't known yet whether the data directory's lake is where the settings say. */
  isLakeNew: boolean;
}

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: a list of all parts, in dependency order
async function build(parts: Ground): Promise<Opened> {
  const { folder, store, peers, config, secrets, log, self, clock, ids, overrides = {} } = parts;
  const bootId = peers?.id ?? ids.uuid();
  const { signals: own = openSignals() } = overrides;
  const { channel } = store;
  const box = await openKeys(store, folder.path, secrets, {
    ids,
    admit: async (keyId) => peers?.join(keyId),
  });
  await openTrail({ store, clock, secrets: box, log }, folder.path);
  const sql = openSql({
    self: [...self, "__sql"],
    folder: join(folder.scratch, "sql"),
    memory: config.sqlMemory,
    timeoutMs: config.sqlTimeoutSeconds * 1000,
    cacheDir: join(folder.scratch, "cache"),
    paths: lakePaths(folder),
    ...(parts.isSqlKeptWarm === undefined ? {} : { isKeptWarm: parts.isSqlKeptWarm }),
  });
  let listening: { host: string; port: number } | null = null;
  const phases = { stopping: new AbortController(), closing: new AbortController() };
  const ca = readAuthorities(config);
  trustAuthorities(ca);
  const egress = {
    ca,
    proxy: secrets.egressProxy,
    allow: config.egressAllow,
    own: ownServices(config, secrets),
    self: () => (listening ? { address: listening.host, port: listening.port } : null),
    clock,
  };
  const out = openEgress(egress);
  const tracer = openTracer({ config, secrets, egress, clock, log, bootId });
  const app: App = {
    config,
    baseUrl: () =>
      config.baseUrl ??
      `${schemeOf(config)}://${hostOf(listening?.host ?? config.host)}:${listening?.port ?? config.port}`,
    store,
    clock,
    ids,
    log,
    tracer,
    secrets: box,
    egress: out,
    egressFor: openOrganizationEgress({ store, signals: own, clock }, out, egress),
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
    mailer: mailerOf(config, secrets, egress),
    sql,
    compute: openCompute(self),
    decidedWhens: new Map(),
    calledResults: new Map(),
    openedPayloads: new Map(),
    room: openSemaphore(ROOM_MIB, { mostOfOne: ROOM_MIB / 2 }),
    charts: openCharts(self),
    reader: openReader(self),
    sheets: openSheets(self),
    scripts: openScripts(self),
    search: openSearch({
      searxngUrl: config.searchUrl,
      braveKey: secrets.braveKey,
      braveUrl: config.braveUrl,
      tavilyKey: secrets.tavilyKey,
      tavilyUrl: config.tavilyUrl,
      egress,
    }),
    ...(await openLake({
      folder,
      config,
      secrets,
      store,
      peers,
      isLakeNew: parts.isLakeNew,
      clock,
      ids,
      egress,
      signal: phases.closing.signal,
    })),
    memory: openMemory(),
    limiter: openLimiter(clock),
    providers,
    executors,
    runFollowers,
    away:
      config.backupUrl === null
        ? null
        : awayFrom(
            config.backupUrl,
            { ...config, ...secrets },
            { egress, clock, signal: phases.closing.signal },
          ),
    filesFolder: folder.files,
    scratchFolder: folder.scratch,
    self,
    bootId,
    peers,
    stopping: phases.stopping.signal,
    closing: phases.closing.signal,
    ...overrides,
    signals: channel === undefined ? own : shareSignals(own, channel, () => peers?.isAlone() ?? true),
  };
  return {
    app,
    listensOn(address) {
      listening = address;
    },
    tell: (phase) => phases[phase].abort(),
    async close() {
      await tracer.close();
      await sql.close();
      await app.scripts.close();
      // the others notice it in any case, only later
      await peers
        ?.leave()
        .catch((error: unknown) => log.report(error, { at: "deregister from the other processes" }));
      await store.close();
      folder.unlock();
    },
  };
}

/** Paths that SQL can read: the lake's files or the copies of a bucket's files, and the work directories. */
function lakePaths({ lake, scratch }: DataFolder): ReachablePaths {
  const copies = join(scratch, "lake");
  const write = [join(lake, WORK), join(copies, "work", WORK)];
  for (const path of write) mkdirSync(path, { recursive: true, mode: 0o700 });
  return { read: [lake, copies], write };
}

/** Location of the lake, which must be the same in all processes that share one. Empty for the data directory. */
const lakeName = ({ lakeUrl, lakeEndpoint }: Config): string =>
  lakeUrl === null ? "" : `${lakeUrl}${lakeEndpoint === null ? "" : ` at ${withoutSecrets(lakeEndpoint)}`}`;

/** Registers this process with its peers on the store, and sets its clock by theirs. */
async function openPeers({ store, folder, clock, ids, config }: Omit<Ground, "peers">): Promise<Peers> {
  await setClock(store, clock);
  const [host, lake] = [hostname(), lakeName(config)];
  const own = { id: ids.uuid(), host, pid: process.pid, version, folderId: folder.id, lake };
  return new Peers(store, clock, own);
}

/** Null if not configured. Its three settings must be set together. */
function providerOf(config: Config, secrets: Secrets, egress: EgressOptions, clock: Clock) {
  const { oidcIssuer: issuer, oidcClientId: clientId } = config;
  const { oidcClientSecret: clientSecret } = secrets;
  if (issuer === null || clientId === null || clientSecret === null) return null;
  return openOpenId({
    issuer,
    clientId,
    clientSecret,
    groupsClaim: config.oidcGroupsClaim,
    egress,
    clock,
  });
}

function mailerOf({ mailFrom: from }: Config, { smtpUrl: url }: Secrets, egress: EgressOptions) {
  return url === null || from === null ? null : openSmtp({ url, from, egress });
}

const hostOf = (host: string) =>
  host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host.includes(":") ? `[${host}]` : host;

type StoreParts = Pick<Parts, "config" | "secrets" | "log" | "workers"> & { clock: Clock };

function storeOf(folder: DataFolder, { config, secrets, clock, log, workers }: StoreParts): Promise<Store> {
  const onCopy = (path: string) =>
    log.write("info", `Migrating the database. The previous state was backed up to ${path}.`);
  return config.databaseUrl === null
    ? openStore({
        path: folder.database,
        migrations,
        backupsFolder: folder.backups,
        onCopy,
        clock,
        ...(workers ? { workers } : {}),
      })
    : openRemoteStore({
        url: config.databaseUrl,
        token: secrets.databaseToken ?? undefined,
        ca: readAuthorities(config),
        migrations,
        clock,
      });
}

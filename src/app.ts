import { join } from "node:path";
import { type Clock, systemClock } from "./base/clock.ts";
import { type EgressOptions, openEgress } from "./base/egress.ts";
import { type Ids, systemIds } from "./base/ids.ts";
import { openLimiter } from "./base/limit.ts";
import type { Log } from "./base/log.ts";
import { openOpenId } from "./base/openid.ts";
import { openSignals } from "./base/signals.ts";
import type { Config, Secrets } from "./config.ts";
import type { App } from "./context.ts";
import { openKeys } from "./engine/keys.ts";
import { executors } from "./executors/registry.ts";
import { type DataFolder, openDataFolder } from "./folder.ts";
import { openFolderLake } from "./lake/folder.ts";
import { providers } from "./providers/registry.ts";
import { openSql } from "./sql/sql.ts";
import { migrations } from "./store/migrations.ts";
import { openRemoteStore, openStore, type Store } from "./store/store.ts";

/** What a process is built from. */
export interface Parts {
  config: Config;
  secrets: Secrets;
  log: Log;
  /** The command that starts this program's hidden SQL child. */
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
    self,
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
    openid: providerOf(config, secrets, egress, clock),
    sql,
    lake: openFolderLake(folder.lake),
    signals: openSignals(),
    limiter: openLimiter(clock),
    providers,
    executors,
    filesFolder: folder.files,
    artifactsFolder: folder.artifacts,
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

import { join } from "node:path";
import { eq } from "drizzle-orm";
import { type Clock, systemClock } from "./base/clock.ts";
import { openEgress } from "./base/egress.ts";
import { type Ids, systemIds } from "./base/ids.ts";
import { openLimiter } from "./base/limit.ts";
import type { Log } from "./base/log.ts";
import { openSignals } from "./base/signals.ts";
import { type Config, ConfigError, type Secrets } from "./config.ts";
import type { App } from "./context.ts";
import { openSecretBox } from "./crypto/secretbox.ts";
import { executors } from "./executors/registry.ts";
import { type DataFolder, masterKey, openDataFolder } from "./folder.ts";
import { openFolderLake } from "./lake/folder.ts";
import { providers } from "./providers/registry.ts";
import { openSql } from "./sql/sql.ts";
import { migrations } from "./store/migrations.ts";
import { settings } from "./store/settings.ts";
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
  const box = await secretBoxOf(store, folder, secrets, ids);
  const sql = openSql({
    self,
    folder: join(folder.scratch, "sql"),
    memory: config.sqlMemory,
    timeoutMs: config.sqlTimeoutSeconds * 1000,
    cacheDir: join(folder.scratch, "cache"),
  });
  let listening: { host: string; port: number } | null = null;
  const app: App = {
    config,
    baseUrl: () =>
      config.baseUrl ?? `http://${hostOf(listening?.host ?? config.host)}:${listening?.port ?? config.port}`,
    store,
    clock,
    ids,
    log,
    secrets: box,
    egress: openEgress({
      allow: config.egressAllow,
      self: () => (listening ? { address: listening.host, port: listening.port } : null),
      clock,
    }),
    sql,
    lake: openFolderLake(folder.lake),
    signals: openSignals(),
    limiter: openLimiter(clock),
    providers,
    executors,
    filesFolder: folder.files,
    artifactsFolder: folder.artifacts,
    bootId: ids.uuid(),
    ...overrides,
  };
  return {
    app,
    listensOn(address) {
      listening = address;
    },
    async close() {
      await sql.close();
      await store.close();
      folder.unlock();
    },
  };
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

/** Opens the box, and refuses a key that is not the one that this store's secrets were sealed with. */
async function secretBoxOf(store: Store, folder: DataFolder, secrets: Secrets, ids: Ids) {
  const [kept] = await store.db.select().from(settings).where(eq(settings.key, "key_id"));
  const box = openSecretBox(masterKey(folder, secrets.secretKey, kept === undefined, ids), ids);
  if (kept === undefined) {
    await store.write(
      async (db) => void (await db.insert(settings).values({ key: "key_id", value: box.keyId })),
    );
  } else if (kept.value !== box.keyId) {
    throw new ConfigError(
      "The secret key is not the one that this database's secrets were sealed with. Set the right WEIR_SECRET_KEY, or put secret.key back.",
    );
  }
  return box;
}

import { eq, inArray } from "drizzle-orm";
import type { Ids } from "../base/ids.ts";
import { ConfigError, type Secrets } from "../config.ts";
import type { App } from "../context.ts";
import { keyIdOf, openSecretBox, type SecretBox } from "../crypto/secretbox.ts";
import {
  dropNextKey,
  keyInFile,
  masterKey,
  nextMasterKey,
  previousMasterKey,
  takeNextKey,
} from "../folder.ts";
import { recordInstallation } from "../installation.ts";
import { settings } from "../store/settings.ts";
import type { ReadDb, Store, WriteDb } from "../store/store.ts";

/** Rows in the settings: the current key, the next one, and the previous ones. */
const KEY = "key_id";
const NEXT = "next_key_id";
const RETIRED = "retired_key_ids";
const RETIRED_KEPT = 20;

const OTHER_KEY =
  "The master key isn't the one that this database's secrets are encrypted with. Set the right WEIR_SECRET_KEY, or restore secret.key.";

interface KeysKept {
  id: string | null;
  /** Data may already be encrypted with it, although `id` still names the previous key. */
  next: string | null;
  retired: readonly string[];
}

/**
 * Opens the secret box with the master key, and with the previous one during a rotation. `admit` is called with the
 * key before anything is written. Throws `ConfigError` if a key is missing that encrypted this store's secrets.
 */
export async function openKeys(
  store: Store,
  path: string,
  secrets: Secrets,
  { ids, admit }: { ids: Ids; admit: (keyId: string) => Promise<void> },
): Promise<SecretBox> {
  const kept = await keysKept(store.db);
  const isFromFile = secrets.secretKey === null;
  const own = masterKey({ path }, secrets.secretKey, kept.id === null, ids);
  const other = isFromFile ? nextMasterKey(path) : previousMasterKey(secrets.secretKeyPrevious);
  const [sealing, former] = isFromFile && other !== null ? [other, own] : [own, other];
  const box = openSecretBox(sealing, ids, { former: former ? [former] : [], retired: kept.retired });

  const isThere = (id: string) => box.keyId === id || box.formerKeyIds.includes(id);
  if (kept.id !== null && !isThere(kept.id)) {
    throw new ConfigError(OTHER_KEY);
  }
  if (kept.next !== null && !isThere(kept.next)) {
    throw new ConfigError(
      "A key rotation was in progress, and the new key is missing. Restore secret.key.next, or set WEIR_SECRET_KEY to the new key and WEIR_SECRET_KEY_PREVIOUS to the previous one.",
    );
  }
  await admit(box.keyId);
  if (kept.id === null) {
    const first = await store.write((db) => putFirst(db, KEY, box.keyId));
    if (first !== box.keyId) throw new ConfigError(OTHER_KEY); // another process was first
  } else if (kept.id !== box.keyId && kept.next !== box.keyId)
    await store.write((db) => put(db, NEXT, box.keyId));
  return box;
}

/** Starts the rotation that `weir keys rotate` requested. Returns true while data may be encrypted with another key. */
export async function beginChange(app: App): Promise<boolean> {
  const { config, secrets, store, log } = app;
  const next = nextMasterKey(config.dataFolder);
  if (next !== null && keyIdOf(next) !== secrets.keyId) {
    const own = keyInFile(config.dataFolder);
    if (own === null || keyIdOf(own) !== secrets.keyId || store.remote) {
      dropNextKey(config.dataFolder);
      log.write("warn", "new master key rejected: the current one isn't from secret.key");
      return secrets.formerKeyIds.length > 0;
    }
    const keyId = keyIdOf(next);
    await store.write((db) => put(db, NEXT, keyId)); // before anything is encrypted with it
    recordInstallation(config.dataFolder, { keyId });
    secrets.adopt(next);
    log.write("info", "master key rotation started", { keyId });
  }
  return secrets.formerKeyIds.length > 0;
}

/**
 * All data is encrypted with the new key: updates the store, then replaces the old key file. If the process ends
 * between the two, the next one finds both keys and does this again.
 */
export async function endChange(app: App): Promise<void> {
  const { config, secrets, store, log } = app;
  await store.write(async (db) => {
    const { retired } = await keysKept(db);
    const gone = new Set([...retired, ...secrets.formerKeyIds]);
    gone.delete(secrets.keyId);
    await put(db, KEY, secrets.keyId);
    await put(db, RETIRED, JSON.stringify([...gone].slice(-RETIRED_KEPT)));
    await db.delete(settings).where(eq(settings.key, NEXT));
  });
  const next = nextMasterKey(config.dataFolder);
  if (next !== null && keyIdOf(next) === secrets.keyId) takeNextKey(config.dataFolder);
  log.write("info", "master key rotated; the previous key is no longer used", {
    keyId: secrets.keyId,
  });
}

async function keysKept(db: ReadDb): Promise<KeysKept> {
  const rows = await db
    .select()
    .from(settings)
    .where(inArray(settings.key, [KEY, NEXT, RETIRED]));
  const of = (key: string) => rows.find((row) => row.key === key)?.value ?? null;
  return { id: of(KEY), next: of(NEXT), retired: JSON.parse(of(RETIRED) ?? "[]") as string[] };
}

/** Stores this value unless there is one. */
async function putFirst(db: WriteDb, key: string, value: string): Promise<string> {
  await db.insert(settings).values({ key, value }).onConflictDoNothing();
  const [row] = await db.select().from(settings).where(eq(settings.key, key));
  return row?.value ?? value;
}

async function put(db: WriteDb, key: string, value: string): Promise<void> {
  await db
    .insert(settings)
    .values({ key, value })
    .onConflictDoUpdate({ target: settings.key, set: { value } });
}

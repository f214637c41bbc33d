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

/** Rows of the settings: the key that seals, the one that is to, and those that did. */
const KEY = "key_id";
const NEXT = "next_key_id";
const RETIRED = "retired_key_ids";
const RETIRED_KEPT = 20;

const OTHER_KEY =
  "The master key isn't the one that this database's secrets are encrypted with. Set the right WEIR_SECRET_KEY, or restore secret.key.";

interface KeysKept {
  id: string | null;
  /** Something may be sealed under it already, although `id` still names the one before. */
  next: string | null;
  retired: readonly string[];
}

/**
 * Opens the box with the master key, and with the one before where a change of keys is under way. `admit` hears of the
 * key before anything is written down of it. Throws `ConfigError` where a key is missing that this store's secrets were
 * sealed with.
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
    if (first !== box.keyId) throw new ConfigError(OTHER_KEY); // another process was the first, just now
  } else if (kept.id !== box.keyId && kept.next !== box.keyId)
    await store.write((db) => put(db, NEXT, box.keyId));
  return box;
}

/** Takes up the key that `weir keys rotate` asks for. True while something may be sealed under another key. */
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
    await store.write((db) => put(db, NEXT, keyId)); // before anything is sealed under it
    recordInstallation(config.dataFolder, { keyId });
    secrets.adopt(next);
    log.write("info", "master key rotation started", { keyId });
  }
  return secrets.formerKeyIds.length > 0;
}

/**
 * Nothing is sealed under another key any more: tells the store, then lets the new key take the old one's
 * place. A process that ends between the two finds both keys and does this again.
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

/** What is kept under the key: this, where nothing was. */
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

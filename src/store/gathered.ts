import type { ReadDb } from "./store.ts";

/** What is asked for within one turn of the event loop, by key. */
type Asked<V> = Map<string, PromiseWithResolvers<V | undefined>>;

/**
 * A read by key that shares its statement with those that are made in the same turn of the event loop. Who asks for
 * the same gets the same value. For reads outside of transactions.
 */
export function gathered<V>(
  read: (db: ReadDb, keys: readonly string[]) => Promise<ReadonlyMap<string, V>>,
): (db: ReadDb, key: string) => Promise<V | undefined> {
  const open = new WeakMap<ReadDb, Asked<V>>();

  const answer = async (db: ReadDb, asked: Asked<V>) => {
    open.delete(db); // what is asked for from now on may have changed since
    try {
      const found = await read(db, [...asked.keys()]);
      for (const [key, { resolve }] of asked) resolve(found.get(key));
    } catch (error) {
      for (const { reject } of asked.values()) reject(error);
    }
  };

  return (db, key) => {
    let asked = open.get(db);
    if (asked === undefined) {
      const opened: Asked<V> = new Map();
      open.set(db, opened);
      setImmediate(() => void answer(db, opened));
      asked = opened;
    }
    const known = asked.get(key) ?? Promise.withResolvers<V | undefined>();
    asked.set(key, known);
    return known.promise;
  };
}

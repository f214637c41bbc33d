import type { ReadDb } from "./store.ts";

/** Reads requested within one turn of the event loop, by key. */
type Asked<V> = Map<string, PromiseWithResolvers<V | undefined>>;

/**
 * A read by key. All reads of one turn of the event loop share a statement, and equal keys share the value. For use
 * outside transactions.
 */
export function gathered<V>(
  read: (db: ReadDb, keys: readonly string[]) => Promise<ReadonlyMap<string, V>>,
): (db: ReadDb, key: string) => Promise<V | undefined> {
  const open = new WeakMap<ReadDb, Asked<V>>();

  const answer = async (db: ReadDb, reads: Asked<V>) => {
    open.delete(db); // later requests may see newer data
    try {
      const found = await read(db, [...reads.keys()]);
      for (const [key, { resolve }] of reads) resolve(found.get(key));
    } catch (error) {
      for (const { reject } of reads.values()) reject(error);
    }
  };

  return (db, key) => {
    let reads = open.get(db);
    if (reads === undefined) {
      const opened: Asked<V> = new Map();
      open.set(db, opened);
      setImmediate(() => void answer(db, opened));
      reads = opened;
    }
    const known = reads.get(key) ?? Promise.withResolvers<V | undefined>();
    reads.set(key, known);
    return known.promise;
  };
}

import { randomBytes } from "node:crypto";
import { connect, type PostgresClient, type PostgresOptions } from "./postgres-driver.ts";
import type { Channel } from "./store.ts";

/** Interval in which notifications are combined into one message. */
const GATHER_MS = 5;
/** A PostgreSQL message has at most 8,000 bytes. */
const TOPICS_OF_ONE = 100;
/** Maximum number of topics to send. Listeners to others find out by polling. */
const MAX_TOPICS = 2_000;
const LISTEN_AGAIN_MS = 1_000;

/**
 * Topics over LISTEN on a dedicated connection, and NOTIFY outside transactions, since transactions with NOTIFY
 * commit one at a time.
 */
export function openChannel(options: PostgresOptions, reading: PostgresClient) {
  const closing = Promise.withResolvers<void>();
  const listeners: ((topic: string) => void)[] = [];
  /** Prefix of each message, since a process also receives its own. */
  const own = randomBytes(12).toString("base64url");
  let gathered = new Set<string>();
  let name: string | null = null;
  let isClosed = false;

  const hear = (text: string) => {
    const [from, ...topics] = JSON.parse(text) as string[];
    if (from === own) return;
    for (const topic of topics) for (const listener of listeners) listener(topic);
  };

  /** Resolves when the connection is lost. */
  const listen = async () => {
    const lost = Promise.withResolvers<void>();
    const sql = connect({ ...options, max: 1 }, { onnotify: (_, text) => hear(text), onclose: lost.resolve });
    try {
      name ??= await nameOf(reading);
      await sql.unsafe(`LISTEN "${name}"`).simple();
      await Promise.race([lost.promise, closing.promise]);
    } finally {
      await sql.end({ timeout: 0 });
    }
  };

  const keepListening = async () => {
    while (!isClosed) {
      await listen().catch(() => undefined); // the server is unreachable, which queries report
      if (!isClosed) await Promise.race([closing.promise, Bun.sleep(LISTEN_AGAIN_MS)]);
    }
  };

  const send = async () => {
    const topics = [...gathered];
    gathered = new Set();
    name ??= await nameOf(reading);
    for (let from = 0; from < topics.length; from += TOPICS_OF_ONE) {
      const text = JSON.stringify([own, ...topics.slice(from, from + TOPICS_OF_ONE)]);
      await reading.perform("select pg_notify(?, ?)", "values", [name, text]);
    }
  };

  const channel: Channel = {
    tell(topic) {
      if (isClosed || gathered.size >= MAX_TOPICS) return;
      if (gathered.size === 0) setTimeout(() => send().catch(() => undefined), GATHER_MS); // listeners poll anyway
      gathered.add(topic);
    },
    hear(listener) {
      listeners.push(listener);
      listening ??= keepListening();
    },
  };
  let listening: Promise<void> | null = null;
  return {
    channel,
    async close() {
      isClosed = true;
      closing.resolve();
      await listening;
    },
  };
}

/** Installations in different schemas of one database don't share a channel. */
async function nameOf(client: PostgresClient): Promise<string> {
  const [row] = await client.simple("SELECT 'weir ' || md5(current_schema()) AS name");
  return String(row?.name);
}

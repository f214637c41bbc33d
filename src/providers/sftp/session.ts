import type { Attributes, Client, FileEntryWithStats, SFTPWrapper, Stats } from "ssh2";
import { AppError } from "../../base/errors.ts";
import { openSsh } from "../ssh/connect.ts";
import { failureOf, isAbsent } from "./failure.ts";
import type { SftpLink } from "./shape.ts";

/** Idle time after which a session is closed. */
const IDLE_MS = 10_000;

/** Size of one read or write request, and the number of concurrent requests. */
const CHUNK_BYTES = 32 * 1024;
const DEPTH = 32;

/** SFTP operations. They throw the errors of `failureOf`; null means that the path doesn't exist. */
export interface Session {
  /** The connection's root, as the server returns it. */
  root: string;
  realpath(path: string): Promise<string | null>;
  /** Follows links. */
  stat(path: string): Promise<Stats | null>;
  list(path: string): Promise<FileEntryWithStats[] | null>;
  makeFolder(path: string): Promise<void>;
  remove(path: string): Promise<void>;
  /** Throws if the folder isn't empty. */
  removeFolder(path: string): Promise<void>;
  /** Replaces an existing file, atomically if the server can. */
  rename(from: string, to: string): Promise<void>;
  read(path: string): Promise<AsyncGenerator<Uint8Array>>;
  /** Creates a file; resolves when its bytes are on disk, if the server supports that. */
  write(path: string, chunks: AsyncIterable<Uint8Array>): Promise<void>;
}

interface Shared {
  session: Promise<{ session: Session; client: Client }>;
  users: number;
  uses: number;
}

const open = new WeakMap<SftpLink, Shared>();

/** Runs `work` in the link's session, which calls that follow soon reuse. */
export async function inSession<T>(link: SftpLink, work: (session: Session) => Promise<T>): Promise<T> {
  const { session, release } = await take(link);
  try {
    return await work(session);
  } finally {
    release();
  }
}

/** The link's session until it is released. */
export async function take(link: SftpLink): Promise<{ session: Session; release: () => void }> {
  const known = open.get(link);
  const shared = known ?? { session: begin(link), users: 0, uses: 0 };
  if (!known) open.set(link, shared);
  shared.users++;
  shared.uses++;
  let isReleased = false;
  const release = () => {
    if (isReleased) return;
    isReleased = true;
    shared.users--;
    void endIdle(link, shared);
  };
  try {
    return { session: (await shared.session).session, release };
  } catch (error) {
    if (open.get(link) === shared) open.delete(link);
    throw error;
  }
}

async function endIdle(link: SftpLink, shared: Shared): Promise<void> {
  const { uses } = shared;
  if (shared.users > 0) return;
  await link.clock.sleep(IDLE_MS, link.signal);
  if (shared.users > 0 || shared.uses !== uses) return;
  if (open.get(link) === shared) open.delete(link);
  const openSession = await shared.session.catch(() => null);
  openSession?.client.end();
}

async function begin(link: SftpLink): Promise<{ session: Session; client: Client }> {
  const { config, credentials } = link;
  const server = {
    host: config.host,
    port: config.port ?? 22,
    user: credentials.user,
    hostKey: config.hostKey,
  };
  const client = await openSsh(link, server, credentials);
  const end = new AbortController();
  const abort = () => client.destroy();
  client.on("error", () => undefined); // the close event follows
  client.once("close", () => {
    open.delete(link);
    link.signal.removeEventListener("abort", abort);
    end.abort(failureOf(new Error("it was closed"), config));
  });
  link.signal.addEventListener("abort", abort, { once: true });
  try {
    const site = { config, signal: AbortSignal.any([link.signal, end.signal]) };
    const sftp = await called<SFTPWrapper>(site, (done) => client.sftp(done));
    return { session: await sessionOf(site, sftp), client };
  } catch (error) {
    client.destroy();
    throw error;
  }
}

type Done<T> = (error: Error | null | undefined, value: T) => void;

/** A session's server, and what ends it. */
interface Site {
  config: SftpLink["config"];
  signal: AbortSignal;
}

/** The result of a call with a callback. Throws the signal's reason, and the errors of `failureOf`. */
function called<T>({ config, signal }: Site, call: (done: Done<T>) => unknown): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) return abort();
    signal.addEventListener("abort", abort, { once: true });
    call((error, value) => {
      signal.removeEventListener("abort", abort);
      if (error) reject(failureOf(error, config));
      else resolve(value);
    });
  });
}

const orNull = <T>(work: Promise<T>): Promise<T | null> =>
  work.catch((error: unknown) => {
    if (isAbsent(error)) return null;
    throw error;
  });

async function sessionOf(site: Site, sftp: SFTPWrapper): Promise<Session> {
  const { config } = site;
  const call = <T>(work: (done: Done<T>) => unknown) => called<T>(site, work);
  const root = await orNull(call<string>((done) => sftp.realpath(config.root ?? ".", done)));
  const found = root === null ? null : await orNull(call<Stats>((done) => sftp.stat(root, done)));
  if (root === null || !found?.isDirectory())
    throw new AppError(
      "upstream",
      `There is no folder ${JSON.stringify(config.root ?? ".")} at ${config.host}: check root.`,
    );
  return {
    root,
    realpath: (path) => orNull(call<string>((done) => sftp.realpath(path, done))),
    stat: (path) => orNull(call<Stats>((done) => sftp.stat(path, done))),
    list: (path) => orNull(call<FileEntryWithStats[]>((done) => sftp.readdir(path, done))),
    makeFolder: (path) => call<void>((done) => sftp.mkdir(path, done as (error?: Error | null) => void)),
    remove: (path) => call<void>((done) => sftp.unlink(path, done as (error?: Error | null) => void)),
    removeFolder: (path) => call<void>((done) => sftp.rmdir(path, done as (error?: Error | null) => void)),
    rename: (from, to) => renameOver(call, sftp, from, to),
    async read(path) {
      const handle = await call<Buffer>((done) => sftp.open(path, "r", done));
      return readAll(call, sftp, handle);
    },
    async write(path, chunks) {
      const handle = await call<Buffer>((done) => sftp.open(path, "wx", { mode: 0o600 } as Attributes, done));
      try {
        await writeAll(call, sftp, handle, chunks);
        await call<void>((done) =>
          sftp.ext_openssh_fsync(handle, done as (error?: Error | null) => void),
        ).catch(unlessUnsupported);
      } finally {
        await call<void>((done) => sftp.close(handle, done as (error?: Error | null) => void));
      }
    },
  };
}

type Call = <T>(work: (done: Done<T>) => unknown) => Promise<T>;

/** OpenSSH's extensions throw, or are refused, on servers that don't have them. */
function unlessUnsupported(error: unknown): void {
  if (!/not support|unsupported|does not/i.test(String((error as Error)?.message))) throw error;
}

async function renameOver(call: Call, sftp: SFTPWrapper, from: string, to: string): Promise<void> {
  const callback = (done: Done<void>) => done as (error?: Error | null) => void;
  try {
    await call<void>((done) => sftp.ext_openssh_rename(from, to, callback(done)));
  } catch (error) {
    unlessUnsupported(error);
    // SFTP version 3 can't overwrite by renaming: for a moment there is no file
    await call<void>((done) => sftp.unlink(to, callback(done))).catch((failure: unknown) => {
      if (!isAbsent(failure)) throw failure;
    });
    await call<void>((done) => sftp.rename(from, to, callback(done)));
  }
}

/** The bytes of an open file, with several requests ahead of the reader. */
async function* readAll(call: Call, sftp: SFTPWrapper, handle: Buffer): AsyncGenerator<Uint8Array> {
  const ask = (at: number, length = CHUNK_BYTES) =>
    call<Uint8Array>((done) =>
      sftp.read(handle, Buffer.allocUnsafe(length), 0, length, at, (error, read, buffer) => {
        const isEnd = error !== undefined && (error as { code?: number } | null)?.code === 1;
        if (error && !isEnd) done(error, new Uint8Array());
        else done(null, isEnd ? new Uint8Array() : buffer.subarray(0, read));
      }),
    );
  const pending: { at: number; bytes: Promise<Uint8Array> }[] = [];
  let next = 0;
  try {
    for (;;) {
      while (pending.length < DEPTH) {
        const bytes = ask(next);
        bytes.catch(() => undefined); // awaited below, unless reading is cancelled
        pending.push({ at: next, bytes });
        next += CHUNK_BYTES;
      }
      const first = pending.shift();
      let bytes = first ? await first.bytes : new Uint8Array();
      if (bytes.length === 0) return;
      yield bytes;
      // a server may return less than requested, not only at the end
      for (let got = bytes.length; first && got < CHUNK_BYTES; got += bytes.length) {
        bytes = await ask(first.at + got, CHUNK_BYTES - got);
        if (bytes.length === 0) return;
        yield bytes;
      }
    }
  } finally {
    await Promise.allSettled(pending.map(({ bytes }) => bytes));
    await call<void>((done) => sftp.close(handle, done as (error?: Error | null) => void)).catch(
      () => undefined,
    ); // reading has succeeded
  }
}

async function writeAll(
  call: Call,
  sftp: SFTPWrapper,
  handle: Buffer,
  chunks: AsyncIterable<Uint8Array>,
): Promise<void> {
  const pending: Promise<void>[] = [];
  let at = 0;
  try {
    for await (const chunk of chunks) {
      for (let from = 0; from < chunk.length; from += CHUNK_BYTES) {
        const part = Buffer.from(chunk.subarray(from, from + CHUNK_BYTES));
        const position = at;
        const sent = call<void>((done) =>
          sftp.write(handle, part, 0, part.length, position, done as (error?: Error | null) => void),
        );
        sent.catch(() => undefined); // it is awaited below
        pending.push(sent);
        at += part.length;
        if (pending.length >= DEPTH) await pending.shift();
      }
    }
  } finally {
    await Promise.all(pending);
  }
}

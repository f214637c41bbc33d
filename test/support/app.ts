import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openApp } from "../../src/app.ts";
import { type Clock, systemClock } from "../../src/base/clock.ts";
import { openLog } from "../../src/base/log.ts";
import { readConfig } from "../../src/config.ts";
import { type App, contextFor } from "../../src/context.ts";
import { startEngine } from "../../src/engine/start.ts";
import { createAccessToken } from "../../src/resources/access-tokens/service.ts";
import { createFirstOwner } from "../../src/resources/sign-in/setup.ts";
import { server } from "../../src/server.ts";
import type { Workers } from "../../src/store/store.ts";
import { isAsGround, keepLibrary, layGround, type Owner } from "./ground.ts";
import { PROGRAM } from "./program.ts";
import { storeEnv } from "./test-store.ts";

/**
 * A clock that goes as the real one does, and can be turned by hand: forward as if that time had passed, and back as
 * somebody sets back a wall clock, which turns no monotonic one. One that `stands` goes by hand alone, but for its
 * sleeps.
 */
export function turnableClock(
  hurry = 1,
  stands = false,
  hurryLimits = 1,
): Clock & { turn(ms: number): void } {
  let ahead = 0;
  let passed = 0;
  const start = { ms: systemClock.now().getTime(), monotonic: Math.round(systemClock.monotonic()) };
  return {
    now: () => new Date((stands ? start.ms : systemClock.now().getTime()) + ahead),
    monotonic: () => (stands ? start.monotonic : systemClock.monotonic()) + passed,
    sleep: (ms, signal) => systemClock.sleep(hurried(ms, hurry), signal),
    limit: (ms, signal) => systemClock.limit(ms / hurryLimits, signal),
    turn(ms) {
      ahead += ms;
      passed += Math.max(0, ms);
    },
  };
}

/** An engine whose loops rest for less takes half a processor for itself. */
const SHORTEST_REST_MS = 100;

const hurried = (ms: number, hurry: number) =>
  hurry < 1 ? ms / hurry : Math.max(ms / hurry, Math.min(ms, SHORTEST_REST_MS));

/** Threads that a store of this process is done with, for the next one. */
const idle = new Map<string, Worker[]>();

const workers: Workers = {
  take: (name, make) => idle.get(name)?.pop() ?? make(),
  give(name, worker) {
    idle.set(name, [...(idle.get(name) ?? []), worker]);
  },
};

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into replies of every shape
  body: any;
}

export type Client = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
) => Promise<Answer>;

/** Sends JSON, or a body as it is when that is text or bytes. */
export function client(origin: string, fixed: Record<string, string> = {}): Client {
  return async (method, path, body, headers = {}) => {
    const raw = typeof body === "string" || body instanceof Uint8Array;
    const reply = await fetch(origin + path, {
      method,
      redirect: "manual",
      headers: {
        ...(body !== undefined && !raw ? { "content-type": "application/json" } : {}),
        ...fixed,
        ...headers,
      },
      ...(body === undefined ? {} : { body: raw ? (body as string) : JSON.stringify(body) }),
    });
    const text = await reply.text();
    const isJson = /\bjson/.test(reply.headers.get("content-type") ?? "");
    return {
      status: reply.status,
      headers: reply.headers,
      text,
      body: isJson && text ? JSON.parse(text) : null,
    };
  };
}

export const PASSWORD = "correct horse battery staple";

export interface StartOptions {
  /** Settings as in the environment. Private addresses are allowed by default, for the peers of the tests. */
  env?: Record<string, string>;
  /** Kept after the end, and used again by the next start. */
  dataFolder?: string;
  overrides?: Partial<App>;
  /** The command that starts its children. */
  self?: readonly string[];
  /** False leaves the installation without an owner. */
  owner?: boolean;
  /** True makes the owner here: another person, with another token, than in every other test. */
  isOther?: boolean;
  /** False leaves everything undone that no request asks for: runs, retries, sweeping. */
  engine?: boolean;
  /** Other operations than Weir's own. */
  operations?: Parameters<typeof server>[1];
  /** Lets every sleep be so many times as short, though none shorter than 100 ms that was longer. */
  hurry?: number;
  /** As `hurry`, for what work under way may take. */
  hurryLimits?: number;
  /** True where what is tested is a rate or a term: time then goes by only when the clock is turned. */
  stands?: boolean;
}

/** A real server on a free port over a real data directory. `await using` closes it and deletes the directory. */
export async function startApp(options: StartOptions = {}) {
  const dataFolder = options.dataFolder ?? mkdtempSync(join(tmpdir(), "weir-test-"));
  const stored = await storeEnv(dataFolder, options.env ?? {});
  const begins =
    options.owner !== false && !options.isOther && isAsGround(dataFolder, { ...stored, ...options.env });
  const laid = begins ? await layGround(dataFolder, settle) : null;
  const clock = turnableClock(options.hurry, options.stands, options.hurryLimits);
  const logged: string[] = [];
  const env = {
    WEIR_EGRESS_ALLOW: "127.0.0.0/8,::1/128",
    WEIR_API_RATE: "off",
    WEIR_CHECK_REPLIES: "1",
    ...stored,
    ...options.env,
  };
  const { config, secrets } = readConfig({ data: dataFolder, port: "0" }, env, {});
  const opened = await openApp({
    config,
    secrets,
    clock,
    workers,
    isSqlKeptWarm: false, // most tests end before there is another statement
    log: openLog({ level: "info", pretty: false, clock, sink: (line) => logged.push(line) }),
    self: options.self ?? PROGRAM,
    overrides: options.overrides,
  });
  const { app } = opened;
  // the database's clock would undo what a test turns by hand
  if (stored.WEIR_DATABASE_URL !== undefined) Object.assign(app.clock, { correct: () => undefined });
  const http = server(app, options.operations).listen({ port: 0, hostname: "127.0.0.1" });
  const port = http.port ?? 0;
  opened.listensOn({ host: "127.0.0.1", port });
  const origin = `http://127.0.0.1:${port}`;

  const engine = options.engine === false ? null : await startEngine(app);

  const first = laid ?? (options.owner === false ? null : await makeOwner(app));
  return {
    app,
    origin,
    clock,
    dataFolder,
    /** Null where it was not to be started. */
    engine,
    /** Lines of the log, JSON. */
    logged,
    ids: { userId: first?.userId ?? "", organizationId: first?.organizationId ?? "" },
    token: first?.token ?? "",
    /** Speaks for the owner, by an access token. */
    owner: client(origin, { authorization: `Bearer ${first?.token ?? ""}` }),
    anonymous: client(origin),
    async [Symbol.asyncDispose]() {
      await engine?.stop(0);
      await http.stop(true);
      await opened.close();
      keepLibrary(dataFolder);
      if (!options.dataFolder) rmSync(dataFolder, { recursive: true, force: true });
      refuseFaults(logged);
    },
  };
}

/** A loop that fails goes on with the next thing to do, so that only the log tells of a fault in its code. */
function refuseFaults(logged: readonly string[]): void {
  const fault = logged.find((line) => FAULT.test(line));
  if (fault !== undefined) throw new Error(`The server met a fault of its own: ${fault}`);
}

/** Tests that break the database have it refuse by these words, take a table away, or write a schedule that is none. */
const FAULT =
  /^\{"time":"[^"]*","level":"error","message":"(?:Type|Reference|Syntax|Range|SQLite|Store|DrizzleQuery)Error: (?!refused|broken|full|no events|no such table: trail_redactions|CronPattern)/;

/** On a shared store, what a dead process had under way goes on once its lease has ended; on a file, at the start. */
export function endLeases({ app, clock }: Awaited<ReturnType<typeof startApp>>): void {
  if (app.store.remote) clock.turn(31_000);
}

/** Makes an installation with its owner, and ends. */
export async function settle(dataFolder: string): Promise<Owner> {
  await using app = await startApp({ dataFolder, isOther: true, engine: false });
  return { ...app.ids, token: app.token };
}

async function makeOwner(app: App): Promise<Owner> {
  const { user, organization } = await createFirstOwner(
    app,
    {
      email: "ada@example.com",
      password: PASSWORD,
      firstName: "Ada",
      lastName: "Lovelace",
      organizationName: "Acme",
    },
    "test-set-up",
  );
  const ctx = contextFor(app, {
    organizationId: organization.id,
    role: "owner",
    actor: { type: "user", id: user.id, email: user.email },
    correlationId: "test-set-up",
  });
  const { token } = await createAccessToken(ctx, { name: "test", expiresInDays: 400, organizations: "all" });
  return { userId: user.id, organizationId: organization.id, token };
}

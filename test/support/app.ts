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
 * A clock that runs like the real one, and can be turned by hand: forward as if that time had passed,
 * and back like a wall clock that is set back, which doesn't affect the monotonic one.
 * With `stands`, it only moves by hand, except for its sleeps.
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

/** An engine whose loops pause for less takes half a CPU core for itself. */
const SHORTEST_REST_MS = 100;

const hurried = (ms: number, hurry: number) =>
  hurry < 1 ? ms / hurry : Math.max(ms / hurry, Math.min(ms, SHORTEST_REST_MS));

/** Threads that a store of this process no longer needs, for the next one. */
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
  // biome-ignore lint/suspicious/noExplicitAny: tests read replies of any shape
  body: any;
}

export type Client = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
) => Promise<Answer>;

/** Sends JSON, or a raw body if that is text or bytes. */
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
  /** Settings as in the environment. Private addresses are allowed by default, for the tests' peers. */
  env?: Record<string, string>;
  /** Kept at the end, and reused by the next start. */
  dataFolder?: string;
  overrides?: Partial<App>;
  /** The command that starts its children. */
  self?: readonly string[];
  /** False leaves the installation without an owner. */
  owner?: boolean;
  /** True creates the owner here: another user, with another token, than in every other test. */
  isOther?: boolean;
  /** False: nothing happens without a request, such as runs, retries and sweeping. */
  engine?: boolean;
  /** Other operations than Weir's own. */
  operations?: Parameters<typeof server>[1];
  /** Divides every sleep by this number, but not below 100 ms if it was longer. */
  hurry?: number;
  /** Like `hurry`, for time limits of work in progress. */
  hurryLimits?: number;
  /** For tests of a rate or an expiry: time only passes when the clock is turned. */
  stands?: boolean;
}

/** A real server on a free port with a real data directory. `await using` closes it and deletes the directory. */
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
    isSqlKeptWarm: false, // Most tests end before there is another statement.
    log: openLog({ level: "info", pretty: false, clock, sink: (line) => logged.push(line) }),
    self: options.self ?? PROGRAM,
    overrides: options.overrides,
  });
  const { app } = opened;
  // The database's clock would undo what a test turns by hand.
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
    /** Null if it wasn't started. */
    engine,
    /** Lines of the log, JSON. */
    logged,
    ids: { userId: first?.userId ?? "", organizationId: first?.organizationId ?? "" },
    token: first?.token ?? "",
    /** Acts as the owner, with an access token. */
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

/** A loop that fails continues with the next item, so only the log shows a bug in its code. */
function refuseFaults(logged: readonly string[]): void {
  const fault = logged.find((line) => FAULT.test(line));
  if (fault !== undefined) throw new Error(`The server met a fault of its own: ${fault}`);
}

/** Tests that break the database make it fail with these words, remove a table, or insert an invalid schedule. */
const FAULT =
  /^\{"time":"[^"]*","level":"error","message":"(?:Type|Reference|Syntax|Range|SQLite|Store|DrizzleQuery)Error: (?!refused|broken|full|no events|no such table: trail_redactions|CronPattern)/;

/** On a shared store, a dead process's work continues once its lease has expired; on a file, at the start. */
export function endLeases({ app, clock }: Awaited<ReturnType<typeof startApp>>): void {
  if (app.store.remote) clock.turn(31_000);
}

/** Creates an installation with its owner, and ends. */
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

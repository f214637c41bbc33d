import { join } from "node:path";

const MAIN = join(import.meta.dir, "../../src/main.ts");
export const SOURCE: readonly string[] = [process.execPath, MAIN];
const PASSWORD = "a long password for chaos";
const MAX_TRIES = 6000;

/** Servers that would outlive this process. */
const living = new Set<Bun.Subprocess>();
process.on("exit", () => {
  for (const child of living) child.kill("SIGKILL");
});

export interface Answer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: replies can have any shape
  body: any;
}

/** The response to a request. Null if the server was killed before. */
export type Call = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
) => Promise<Answer | null>;

/** A data directory with an owner, and the command that serves it. */
export interface Installation {
  command: readonly string[];
  folder: string;
  env: Record<string, string>;
  token: string;
  organizationId: string;
}

/** A `weir serve` that runs until it is killed. */
export interface Weir {
  origin: string;
  pid: number;
  call: Call;
  /** Wall-clock milliseconds of its first response. */
  readyAtMs: number;
  /** Pauses it, or lets it continue. */
  signal(signal: "SIGSTOP" | "SIGCONT"): void;
  /** Returns the exit code. */
  end(signal: "SIGKILL" | "SIGTERM"): Promise<number>;
}

export async function makeInstallation(
  command: readonly string[],
  folder: string,
  more: Record<string, string> = {},
): Promise<Installation> {
  const env = {
    PATH: process.env.PATH ?? "",
    HOME: folder,
    WEIR_API_RATE: "off",
    WEIR_DEFAULT_PLAN: "enterprise",
    WEIR_LOG: "error",
    WEIR_CONCURRENCY: "32",
    WEIR_EGRESS_ALLOW: "127.0.0.0/8",
    WEIR_WEBHOOK_SCHEDULE: "0,1,1,1,1,1,1,1,1,1",
    ...more,
  };
  const owner = ["--email", "chaos@example.com", "--password-stdin", "--org", "Chaos"];
  const words = ["init", ...owner, "--data", folder, "--json"];
  const made = await runWeir({ command, env }, words, PASSWORD);
  if (made.code !== 0) throw new Error(`weir init: ${made.err}`);
  const { token, organizationId } = JSON.parse(made.out) as Pick<Installation, "token" | "organizationId">;
  return { command, folder, env, token, organizationId };
}

/** Runs a command to its end. This process continues in the meantime, as a relay between Weir and its database must. */
export async function runWeir(
  { command, env }: Pick<Installation, "command" | "env">,
  words: readonly string[],
  input = "",
): Promise<{ code: number; out: string; err: string }> {
  const child = Bun.spawn([...command, ...words], {
    env,
    stdin: Buffer.from(input),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, err] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  return { code: await child.exited, out, err };
}

/** Settings of processes that share a database server. */
export const sharedSettings = (url: string): Record<string, string> => ({
  WEIR_DATABASE_URL: url,
  WEIR_SECRET_KEY: Buffer.alloc(32, 7).toString("base64"),
});

/** A server that loses its database logs each failure. The log is shown only if it doesn't start. */
const logOf = ({ env, folder }: Pick<Installation, "env" | "folder">, port: number) =>
  env.WEIR_DATABASE_URL?.startsWith("postgres:") ? Bun.file(join(folder, `weir-${port}.log`)) : "inherit";

export async function serve(installation: Installation): Promise<Weir> {
  const { command, folder, env, token } = installation;
  const port = freePort();
  const log = logOf(installation, port);
  const child = Bun.spawn([...command, "serve", "--data", folder, "--port", String(port)], {
    env,
    stdio: ["ignore", "ignore", log],
  });
  living.add(child);
  const origin = `http://127.0.0.1:${port}`;
  for (let tries = 0; ; tries++) {
    if ((await fetch(`${origin}/health`).catch(() => null))?.ok) break;
    if (tries > MAX_TRIES || child.exitCode !== null)
      throw new Error(
        `Weir did not start again: ${log === "inherit" ? "" : (await log.text()).slice(-2_000)}`,
      );
    await Bun.sleep(5);
  }
  return {
    origin,
    pid: child.pid,
    call: caller(origin, token),
    readyAtMs: Date.now(),
    signal: (signal) => child.kill(signal),
    end(signal) {
      child.kill(signal);
      return child.exited.finally(() => living.delete(child));
    },
  };
}

/** Starts it, and kills it before it is ready or shortly after. */
export async function serveBriefly({ command, folder, env }: Installation, ms: number): Promise<void> {
  const port = freePort();
  const words = ["serve", "--data", folder, "--port", String(port)];
  const child = Bun.spawn([...command, ...words], {
    env,
    stdio: ["ignore", "ignore", logOf({ env, folder }, port)],
  });
  await Bun.sleep(ms);
  child.kill("SIGKILL");
  await child.exited;
}

function caller(origin: string, token: string): Call {
  return async (method, path, body, headers = {}) => {
    const isRaw = body instanceof Uint8Array;
    const type = body === undefined || isRaw ? {} : { "content-type": "application/json" };
    try {
      const reply = await fetch(origin + path, {
        method,
        headers: { authorization: `Bearer ${token}`, ...type, ...headers },
        ...(body === undefined ? {} : { body: isRaw ? body : JSON.stringify(body) }),
      } as RequestInit);
      const text = await reply.text();
      return { status: reply.status, body: text === "" ? null : JSON.parse(text) };
    } catch {
      return null; // Killed, or disconnected within the response.
    }
  };
}

/** Returns the body of a response, which must be a success. */
export async function ask(call: Call, method: string, path: string, body?: unknown): Promise<Answer["body"]> {
  const answer = await call(method, path, body);
  if (answer === null || answer.status >= 300)
    throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`);
  return answer.body;
}

/** A port below the ephemeral range, so that nobody gets it before it is used. */
function freePort(): number {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 20_000);
    try {
      Bun.listen({ hostname: "127.0.0.1", port, socket: { data() {} } }).stop(true);
      return port;
    } catch {
      // It is taken.
    }
  }
}

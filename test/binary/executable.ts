import { beforeAll } from "bun:test";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { client } from "../support/app.ts";

export const ROOT = resolve(import.meta.dir, "../..");
const BUILT = join(ROOT, "dist/weir");
/** For a build on a busy machine. */
export const BUILD_LIMIT_MS = 240_000;

/** Builds an executable from the tree at `root`. */
export function build(
  root: string,
  out: string,
  options: { entry?: string; env?: Record<string, string> } = {},
): void {
  const { entry = "src/main.ts", env = {} } = options;
  const built = Bun.spawnSync([process.execPath, "scripts/build.ts", entry, out], {
    cwd: root,
    env: { ...process.env, ...env },
  });
  if (!built.success) throw new Error(`The build failed: ${built.stderr.toString()}`);
}

/**
 * The project's executable, rebuilt if a source file is newer.
 * Of several test files that start together, one builds it.
 */
export function executable(): string {
  if (isUpToDate()) return BUILT;
  mkdirSync(join(ROOT, "dist"), { recursive: true });
  const lock = join(ROOT, "dist/.building");
  while (!takes(lock)) Bun.sleepSync(200);
  try {
    if (!isUpToDate()) build(ROOT, BUILT);
  } finally {
    rmSync(lock, { force: true });
  }
  return BUILT;
}

const isUpToDate = () => existsSync(BUILT) && newestSource() <= statSync(BUILT).mtimeMs;

/** Returns true once the lock is taken. A lock of a process that has ended is ignored. */
function takes(lock: string): boolean {
  try {
    writeFileSync(lock, String(process.pid), { flag: "wx" });
    return true;
  } catch {
    const owner = Number(existsSync(lock) ? readFileSync(lock, "utf8") : "0");
    if (owner > 0 && !isAlive(owner)) rmSync(lock, { force: true });
    return false;
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

beforeAll(() => void executable(), BUILD_LIMIT_MS);

function newestSource(): number {
  const files = [
    "package.json",
    "bun.lock",
    ...new Bun.Glob("{src,web,migrations,scripts}/**/*").scanSync(ROOT),
  ];
  return Math.max(...files.map((file) => statSync(join(ROOT, file)).mtimeMs));
}

/** Copies the project's sources, to build other executables from. The packages are the project's own. */
export function copyOfProject(linkPackages: (from: string, to: string) => void = symlinkSync) {
  const folder = mkdtempSync(join(tmpdir(), "weir-copy-"));
  for (const name of SOURCES) cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  linkPackages(join(ROOT, "node_modules"), join(folder, "node_modules"));
  return { folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) };
}

const SOURCES = [
  "src",
  "web",
  "migrations",
  "docs",
  "examples",
  "scripts",
  "package.json",
  "bun.lock",
  "tsconfig.json",
  "LICENSE",
];

export interface Ended {
  code: number;
  out: string;
  err: string;
  /** Lines of `out`, JSON each. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read lines of any shape
  lines(): any[];
}

interface RunOptions {
  stdin?: string;
  env?: Record<string, string>;
  /** Another program to start it with, such as `unshare`. */
  through?: readonly string[];
  program?: string;
}

export const PASSWORD = "correct horse battery staple";

/** An empty folder and an empty environment: a machine with nothing installed. */
export function bareMachine() {
  const folder = mkdtempSync(join(tmpdir(), "weir-binary-"));
  const temporary = join(folder, "temporary");
  const here = join(folder, "here");
  mkdirSync(temporary);
  mkdirSync(here);
  const children = new Set<{ kill(signal: NodeJS.Signals): void; exited: Promise<number> }>();
  const settings = (env: Record<string, string> = {}) => ({
    PATH: "/nowhere",
    HOME: folder,
    TMPDIR: temporary,
    ...env,
  });

  const run = async (args: readonly string[], options: RunOptions = {}): Promise<Ended> => {
    const child = Bun.spawn([...(options.through ?? []), options.program ?? executable(), ...args], {
      cwd: here,
      env: settings(options.env),
      stdin: Buffer.from(options.stdin ?? ""),
      stdout: "pipe",
      stderr: "pipe",
    });
    const [code, out, err] = await Promise.all([
      child.exited,
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
    ]);
    return {
      code,
      out,
      err,
      lines: () =>
        out
          .trim()
          .split("\n")
          .map((line) => JSON.parse(line)),
    };
  };

  /** Starts a command that keeps running. `line` returns the first line of its output that `find` accepts. */
  const start = (args: readonly string[], options: RunOptions & { listen?: "stdout" | "stderr" } = {}) => {
    const log = join(folder, `output-${children.size}`);
    const child = Bun.spawn([options.program ?? executable(), ...args], {
      cwd: here,
      env: settings(options.env),
      stdin: "ignore",
      stdout: options.listen === "stdout" ? Bun.file(log) : "ignore",
      stderr: options.listen === "stdout" ? "inherit" : Bun.file(log),
    });
    children.add(child);
    return {
      child,
      async line<T>(find: (line: string) => T | null): Promise<T> {
        for (let tries = 0; tries < 3000; tries++) {
          const lines = existsSync(log) ? readFileSync(log, "utf8").split("\n").slice(0, -1) : [];
          for (const line of lines) {
            const found = find(line);
            if (found !== null) return found;
          }
          if (child.exitCode !== null)
            throw new Error(`It ended with ${child.exitCode}: ${lines.join("\n")}`);
          await Bun.sleep(10);
        }
        throw new Error("The line did not come.");
      },
      async end(signal: NodeJS.Signals = "SIGTERM"): Promise<number> {
        child.kill(signal);
        return child.exited;
      },
    };
  };

  return {
    /** Folder where commands are started. Empty at first. */
    here,
    temporary,
    run,
    start,
    /** Runs `weir init` in the default data directory. */
    async init(): Promise<{
      userId: string;
      organizationId: string;
      organizationSlug: string;
      token: string;
    }> {
      const made = await run(
        ["init", "--email", "ada@example.com", "--password-stdin", "--org", "Acme", "--json"],
        {
          stdin: `${PASSWORD}\n`,
        },
      );
      if (made.code !== 0) throw new Error(made.err);
      return made.lines()[0];
    },
    /** Runs `weir serve` on a free port. Resolves once it responds. */
    async serve(options: RunOptions & { token?: string } = {}) {
      const server = start(["serve", "--port", "0"], options);
      const origin = await server.line((line) => / listening on (http:[^"]+)"/.exec(line)?.[1] ?? null);
      return {
        ...server,
        origin,
        call: client(origin, options.token ? { authorization: `Bearer ${options.token}` } : {}),
      };
    },
    async [Symbol.asyncDispose]() {
      for (const child of children) child.kill("SIGKILL");
      await Promise.all([...children].map(({ exited }) => exited));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/**
 * Starts a program inside `unshare`, after `script` has prepared the environment. Null if this system doesn't allow it.
 */
export function unshared(
  flags: readonly string[],
  script: string,
): ((...words: string[]) => string[]) | null {
  const [unshare, sh, path] = [Bun.which("unshare"), Bun.which("sh"), process.env.PATH ?? ""];
  if (unshare === null || sh === null) return null;
  // Only `script` uses the machine's own tools; the program doesn't find them.
  const scene = `own=$PATH; PATH='${path}'; ${script} && PATH=$own && exec "$@"`;
  const through = (...words: string[]) => [unshare, ...flags, sh, "-c", scene, "sh", ...words];
  const trial = Bun.spawnSync([...through("/mnt"), "/bin/true"], { stderr: "ignore" });
  return trial.success ? through : null;
}

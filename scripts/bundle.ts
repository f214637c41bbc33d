import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { bunComponent, type Component, componentsOf, ownComponent, packageOf } from "./components.ts";
import { quick, small } from "./compressed.ts";
import { keepWeb } from "./kept-web.ts";
import { buildManual } from "./manual.ts";
import {
  carryLicenses,
  duckdbNative,
  embedManual,
  embedWeb,
  fillTables,
  isWorker,
  noOtherNative,
  notePackages,
  workerAddresses,
} from "./plugins.ts";
import { partsFor, type TargetName } from "./targets.ts";
import { buildWeb } from "./web.ts";

const root = resolve(import.meta.dir, "..");

/** The functions that a server uses, as recorded by `bytecode-order.ts`. */
export const BYTECODE_ORDER = join(root, "scripts/bytecode-order.txt");

interface BundleOptions {
  target: TargetName;
  entry: string;
  /** Null only lists what would be included. */
  outfile: string | null;
  commit: string | undefined;
  /** SPKI in base64. */
  releaseKey: string | undefined;
  /** Spends less time on compression. */
  isQuick: boolean;
}

/** Bundles everything, including the page, and returns what is included. Throws if the build fails. */
export async function bundle(options: BundleOptions): Promise<Component[]> {
  const { target, entry, outfile, commit, releaseKey } = options;
  const by = options.isQuick ? quick : small;
  const { executablePath, packages, duckdb } = await partsFor(target);
  const folders = new Set<string>();
  const native = join(packages, "@duckdb", `node-bindings-${duckdb}`);
  const note = notePackages((path) => {
    const folder = packageOf(path);
    if (folder !== null && existsSync(join(folder, "package.json"))) folders.add(folder);
  });
  // A plugin generates the page's styles from its own package, which the bundler doesn't see.
  for (const folder of [native, join(root, "node_modules/tailwindcss")]) folders.add(folder);
  const list = () => [ownComponent(), bunComponent(), ...componentsOf(folders)];

  const workers = [...new Bun.Glob("src/**/*.ts").scanSync(root)]
    .map((path) => path.replaceAll("\\", "/"))
    .filter(isWorker)
    .sort();
  // Bun writes source maps next to its output even if they are embedded; only the executable is moved out.
  const home = outfile === null ? join(root, "dist") : dirname(outfile);
  mkdirSync(home, { recursive: true });
  const workshop = mkdtempSync(join(home, ".build-"));
  try {
    // Before the build, never inside it: a bundler plugin that bundles would wait for itself.
    const webFiles = await buildWeb({ plugins: [note] });
    keepWeb(webFiles);
    const made = join(workshop, target.startsWith("windows") ? "weir.exe" : "weir");
    const built = await Bun.build({
      root,
      entrypoints: [entry, ...workers].map((path) => resolve(root, path)),
      target: "bun",
      // Each `await import()` becomes a separate chunk: `weir version` doesn't load the server.
      splitting: true,
      // Precompiled: the first request takes a third of the time, for 27 MB more.
      bytecode: outfile !== null,
      format: "esm",
      // Stack traces of the executable refer to the TypeScript.
      sourcemap: outfile === null ? "none" : "inline",
      // Names must be kept: Elysia 1.4 recognizes its own errors by class name, and accepts bad numbers otherwise.
      minify: { whitespace: true, syntax: true, identifiers: false },
      ...(outfile === null
        ? {}
        : {
            compile: {
              target: bunTarget(target),
              ...(executablePath === undefined ? {} : { executablePath }),
              outfile: made,
              // Functions that a server uses are stored together, so 10 MB less of the executable is in memory.
              bytecodeOrder: existsSync(BYTECODE_ORDER) ? BYTECODE_ORDER : null,
              // The executable reads no configuration from the current directory.
              autoloadDotenv: false,
              autoloadBunfig: false,
            },
          }),
      define: {
        "process.env.NODE_ENV": '"production"',
        // For CommonJS packages, the bundler would embed this machine's paths.
        __dirname: '"/"',
        __filename: '"/"',
        WEIR_COMMIT: JSON.stringify(commit) ?? "undefined",
        WEIR_RELEASE_KEY: JSON.stringify(releaseKey) ?? "undefined",
      },
      plugins: [
        note,
        noOtherNative,
        embedWeb(webFiles, by),
        embedManual(buildManual(), by),
        workerAddresses,
        fillTables,
        carryLicenses(list),
        duckdbNative(duckdb, packages, by),
      ],
    });
    for (const line of built.logs) console.error(line);
    if (!built.success) throw new Error("The build failed.");
    if (outfile !== null) renameSync(made, outfile);
    return list();
  } finally {
    rmSync(workshop, { recursive: true, force: true });
  }
}

/** Undefined outside a repository or without git. */
export function commitOf(): string | undefined {
  const program = Bun.which("git");
  if (program === null) return undefined;
  const git = Bun.spawnSync([program, "rev-parse", "HEAD"], { cwd: root, stderr: "ignore" });
  return git.success ? git.stdout.toString().trim() : undefined;
}

const bunTarget = (target: TargetName) => `bun-${target}` as Bun.Build.CompileTarget;

/** Other versions produce other bytes, and weren't tested. */
export function requireBun(): void {
  const { devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  if (Bun.version === devDependencies.bun) return;
  throw new Error(
    `This is Bun ${Bun.version}; the executable is built with ${devDependencies.bun}: npm run build.`,
  );
}

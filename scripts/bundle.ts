import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { bunComponent, type Component, componentsOf, ownComponent, packageOf } from "./components.ts";
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

/** The functions that a server uses, as `bytecode-order.ts` has recorded them. */
export const BYTECODE_ORDER = join(root, "scripts/bytecode-order.txt");

interface BundleOptions {
  target: TargetName;
  entry: string;
  /** Null only tells what would be carried. */
  outfile: string | null;
  commit: string | undefined;
  /** SPKI in base64. */
  releaseKey: string | undefined;
}

/** Bundles everything, page and all, and gives back what is carried. Throws where it can't be built. */
export async function bundle(options: BundleOptions): Promise<Component[]> {
  const { target, entry, outfile, commit, releaseKey } = options;
  const { executablePath, packages, duckdb } = await partsFor(target);
  const folders = new Set<string>();
  const native = join(packages, "@duckdb", `node-bindings-${duckdb}`);
  const note = notePackages((path) => {
    const folder = packageOf(path);
    if (folder !== null && existsSync(join(folder, "package.json"))) folders.add(folder);
  });
  // The page's styles are made by a plugin that reads its own package, which the bundler does not see.
  for (const folder of [native, join(root, "node_modules/tailwindcss")]) folders.add(folder);
  const list = () => [ownComponent(), bunComponent(), ...componentsOf(folders)];

  const workers = [...new Bun.Glob("src/**/*.ts").scanSync(root)]
    .map((path) => path.replaceAll("\\", "/"))
    .filter(isWorker)
    .sort();
  // Bun lays map files beside what it compiles, also when they are inside; only the executable is moved out.
  const home = outfile === null ? join(root, "dist") : dirname(outfile);
  mkdirSync(home, { recursive: true });
  const workshop = mkdtempSync(join(home, ".build-"));
  try {
    // Before the build, never inside it: a bundler's plugin that bundles waits for itself.
    const webFiles = await buildWeb({ plugins: [note] });
    keepWeb(webFiles);
    const made = join(workshop, target.startsWith("windows") ? "weir.exe" : "weir");
    const built = await Bun.build({
      root,
      entrypoints: [entry, ...workers].map((path) => resolve(root, path)),
      target: "bun",
      // Each `await import()` becomes a chunk of its own: `weir version` does not load the server.
      splitting: true,
      // Parsed beforehand: the first request is answered in a third of the time, for 27 MB more.
      bytecode: outfile !== null,
      format: "esm",
      // Stack traces of the executable speak of the TypeScript.
      sourcemap: outfile === null ? "none" : "inline",
      // Names must survive: Elysia 1.4 knows its own errors by class name, and without it lets bad numbers in.
      minify: { whitespace: true, syntax: true, identifiers: false },
      ...(outfile === null
        ? {}
        : {
            compile: {
              target: bunTarget(target),
              ...(executablePath === undefined ? {} : { executablePath }),
              outfile: made,
              // What a server uses lies together: 10 MB less of the executable is in memory.
              bytecodeOrder: existsSync(BYTECODE_ORDER) ? BYTECODE_ORDER : null,
              // The executable obeys no file of the folder that it is started in.
              autoloadDotenv: false,
              autoloadBunfig: false,
            },
          }),
      define: {
        "process.env.NODE_ENV": '"production"',
        // For packages in CommonJS the bundler would write the folders of this machine.
        __dirname: '"/"',
        __filename: '"/"',
        WEIR_COMMIT: JSON.stringify(commit) ?? "undefined",
        WEIR_RELEASE_KEY: JSON.stringify(releaseKey) ?? "undefined",
      },
      plugins: [
        note,
        noOtherNative,
        embedWeb(webFiles),
        embedManual(buildManual()),
        workerAddresses,
        fillTables,
        carryLicenses(list),
        duckdbNative(duckdb, packages),
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

/** Undefined outside of a repository, and on a machine without git. */
export function commitOf(): string | undefined {
  const program = Bun.which("git");
  if (program === null) return undefined;
  const git = Bun.spawnSync([program, "rev-parse", "HEAD"], { cwd: root, stderr: "ignore" });
  return git.success ? git.stdout.toString().trim() : undefined;
}

const bunTarget = (target: TargetName) => `bun-${target}` as Bun.Build.CompileTarget;

/** Other versions make other bytes, and were not tried. */
export function requireBun(): void {
  const { devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  if (Bun.version === devDependencies.bun) return;
  throw new Error(
    `This is Bun ${Bun.version}; the executable is built with ${devDependencies.bun}: npm run build.`,
  );
}

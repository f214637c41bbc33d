/**
 * Compiles the single executable for this machine: `bun scripts/build.ts [entry] [outfile]`, by default
 * src/main.ts to dist/weir.
 */
import { mkdirSync, mkdtempSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { duckdbNative, embedWeb, isWorker, noOtherNative, workerAddresses } from "./plugins.ts";
import { buildWeb } from "./web.ts";

const root = resolve(import.meta.dir, "..");
const [entry = "src/main.ts", out = "dist/weir"] = process.argv.slice(2);
const outfile = resolve(root, out);
const started = performance.now();

const workers = [...new Bun.Glob("src/**/*.ts").scanSync(root)].filter(isWorker).sort();

// Bun lays map files beside what it compiles, also when they are inside; only the executable is moved out.
mkdirSync(dirname(outfile), { recursive: true });
const workshop = mkdtempSync(join(dirname(outfile), ".build-"));
process.on("exit", () => rmSync(workshop, { recursive: true, force: true }));

// Before the build, never inside it: a bundler's plugin that bundles waits for itself.
const webFiles = await buildWeb();

const built = await Bun.build({
  root,
  entrypoints: [entry, ...workers].map((path) => resolve(root, path)),
  target: "bun",
  // Each `await import()` becomes a chunk of its own: `weir version` does not load the server.
  splitting: true,
  // Parsed beforehand: the first request is answered in half the time, for 8 MB more.
  bytecode: true,
  format: "esm",
  // Stack traces of the executable speak of the TypeScript.
  sourcemap: "inline",
  // Names must survive: Elysia 1.4 knows its own errors by class name, and without it lets bad numbers in.
  minify: { whitespace: true, syntax: true, identifiers: false },
  // The executable obeys no file of the folder that it is started in.
  compile: { outfile: join(workshop, "weir"), autoloadDotenv: false, autoloadBunfig: false },
  define: {
    "process.env.NODE_ENV": '"production"',
    WEIR_COMMIT: JSON.stringify(commitOf(root)) ?? "undefined",
  },
  plugins: [
    noOtherNative,
    embedWeb(webFiles, join(workshop, "web")),
    workerAddresses,
    duckdbNative(`${process.platform}-${process.arch}`),
  ],
});
for (const line of built.logs) console.error(line);
if (!built.success) process.exit(1);

renameSync(join(workshop, "weir"), outfile);
const megabytes = (statSync(outfile).size / 1e6).toFixed(1);
console.log(`${out}: ${megabytes} MB in ${((performance.now() - started) / 1000).toFixed(1)} s`);

/** Undefined outside of a repository, and on a machine without git. */
function commitOf(folder: string): string | undefined {
  const program = Bun.which("git");
  if (program === null) return undefined;
  const git = Bun.spawnSync([program, "rev-parse", "HEAD"], { cwd: folder, stderr: "ignore" });
  return git.success ? git.stdout.toString().trim() : undefined;
}

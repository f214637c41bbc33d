/**
 * Installs what the lockfile names, on a machine with Node and npm alone or with Bun alone. It runs
 * before there is a Bun, hence plain JavaScript. All that it prints goes to stderr.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const NODE_FLOOR = 20;
if (!process.versions.bun && Number.parseInt(process.versions.node, 10) < NODE_FLOOR) {
  console.error(
    `This is Node ${process.versions.node}; Weir is set up with ${NODE_FLOOR} or newer, or with Bun.`,
  );
  process.exit(1);
}

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const readJson = (...path) => JSON.parse(readFileSync(join(root, ...path), "utf8"));
const { devDependencies, trustedDependencies } = readJson("package.json");

/** The package holds a text of some hundred bytes until its postinstall script puts the program there. */
function bunIsInstalled() {
  const program = join(root, "node_modules", "bun", "bin", "bun.exe");
  return existsSync(program) && statSync(program).size > 1_000_000;
}

/** The project's own Bun, else the one that runs this, else the one that npm fetches. */
function installer() {
  if (bunIsInstalled() && readJson("node_modules", "bun", "package.json").version === devDependencies.bun) {
    return [join(root, "node_modules", "bun", "bin", "bun.exe")];
  }
  if (process.versions.bun) return [process.execPath];
  // Both flags stand against what a user's npm settings may say: without the first npm asks and, with no
  // terminal, refuses; without the second the fetched package is the text, not the program.
  return ["npx", "--yes", "--ignore-scripts=false", `bun@${devDependencies.bun}`];
}

function run([command, ...args], cwd = root) {
  const shell = process.platform === "win32" && command === "npx";
  const { status, error } = spawnSync(command, args, { cwd, shell, stdio: ["ignore", 2, 2] });
  if (error) console.error(`${command} did not start: ${error.message}`);
  if (status !== 0) process.exit(status ?? 1);
}

run([...installer(), "install", "--frozen-lockfile"]);

// Where the user's settings keep packages from running scripts, those that the project trusts run here.
if (!bunIsInstalled()) {
  for (const name of trustedDependencies) {
    const folder = join("node_modules", ...name.split("/"));
    if (!existsSync(join(root, folder))) continue;
    const script = readJson(folder, "package.json").scripts?.postinstall ?? "";
    if (script.startsWith("node ")) run([process.execPath, script.slice(5)], join(root, folder));
  }
}

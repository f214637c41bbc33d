/**
 * Installs the packages in the lockfile, on a machine with only Node and npm or only Bun.
 * It runs before there is a Bun, so it is plain JavaScript. Prints only to stderr.
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

/** The package contains a text of some hundred bytes until its postinstall script replaces it with the program. */
function bunIsInstalled() {
  const program = join(root, "node_modules", "bun", "bin", "bun.exe");
  return existsSync(program) && statSync(program).size > 1_000_000;
}

/** Returns the project's own Bun, otherwise the one that runs this, otherwise the one that npm downloads. */
function installer() {
  if (bunIsInstalled() && readJson("node_modules", "bun", "package.json").version === devDependencies.bun) {
    return [join(root, "node_modules", "bun", "bin", "bun.exe")];
  }
  if (process.versions.bun) return [process.execPath];
  // Both flags override npm settings of the user: without the first, npm asks and, without a terminal, fails;
  // without the second, the downloaded package has the text instead of the program.
  return ["npx", "--yes", "--ignore-scripts=false", `bun@${devDependencies.bun}`];
}

function run([command, ...args], cwd = root) {
  const shell = process.platform === "win32" && command === "npx";
  const { status, error } = spawnSync(command, args, { cwd, shell, stdio: ["ignore", 2, 2] });
  if (error) console.error(`${command} did not start: ${error.message}`);
  if (status !== 0) process.exit(status ?? 1);
}

run([...installer(), "install", "--frozen-lockfile"]);

// If the user's settings prevent packages from running scripts, those that the project trusts run here.
if (!bunIsInstalled()) {
  for (const name of trustedDependencies) {
    const folder = join("node_modules", ...name.split("/"));
    if (!existsSync(join(root, folder))) continue;
    const script = readJson(folder, "package.json").scripts?.postinstall ?? "";
    if (script.startsWith("node ")) run([process.execPath, script.slice(5)], join(root, folder));
  }
}

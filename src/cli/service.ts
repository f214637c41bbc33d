import { chownSync, existsSync, mkdirSync, realpathSync, rmSync, statSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, resolve } from "node:path";
import { codeOf } from "../base/disk.ts";
import { AppError } from "../base/errors.ts";
import { dataFolderHere, systemDataFolder } from "./data-folders.ts";
import { carryOut, type Host, readArgs, UsageError } from "./host.ts";
import type { ServicePlan } from "./service/contract.ts";
import { planFor } from "./service/plan.ts";
import { usage } from "./usage.ts";
import { missingSubcommand, unexpectedArgument } from "./verbs.ts";

const OPTIONS = {
  data: { type: "string" },
  host: { type: "string" },
  port: { type: "string" },
  user: { type: "boolean" },
  system: { type: "boolean" },
  "dry-run": { type: "boolean" },
  yes: { type: "boolean" },
  json: { type: "boolean" },
} as const;

type Flags = ReturnType<typeof readArgs<{ options: typeof OPTIONS }>>["values"];

const VERBS = { install, uninstall, status } as const;

/** `weir service install|uninstall|status` */
export const service = (args: readonly string[], host: Host) =>
  carryOut(host, usage.service.line, async () => {
    const { values: flags, positionals } = readArgs({
      args: [...args],
      allowPositionals: true,
      options: OPTIONS,
    });
    const [verb = "", ...more] = positionals;
    if (!isVerb(verb)) throw new UsageError(missingSubcommand("service", Object.keys(VERBS), positionals));
    if (more[0] !== undefined) throw new UsageError(unexpectedArgument(more[0]));
    if (flags.user && flags.system) throw new UsageError("Use only one of --user and --system.");
    if (verb !== "install" && (flags.data ?? flags.host ?? flags.port ?? flags["dry-run"]) !== undefined)
      throw new UsageError("--data, --host, --port and --dry-run are flags of install.");
    await VERBS[verb](host, flags);
  });

const isVerb = (word: string): word is keyof typeof VERBS => Object.hasOwn(VERBS, word);

async function install(host: Host, flags: Flags): Promise<void> {
  const { plan, data, uid } = await planOf(host, flags);
  if (flags["dry-run"]) return host.out(plan.text.trimEnd());
  host.err(`${plan.noun} ${plan.file}:\n\n${plan.text}`);
  await askFor(host, flags, existsSync(plan.file) ? "Replace the service?" : "Install the service?");
  const isNew = !existsSync(data);
  mkdirSync(data, { recursive: true, mode: 0o700 });
  if (isNew && uid !== null) chownSync(data, uid, statSync(dirname(data)).gid);
  mkdirSync(dirname(plan.file), { recursive: true });
  const mark = plan.encoding === "utf16le" ? "\uFEFF" : "";
  writeFileSync(plan.file, mark + plan.text, { encoding: plan.encoding });
  for (const command of plan.start) await run(host, command, `${plan.file} was written, but `);
  if (flags.json) return host.out(JSON.stringify({ file: plan.file, data, installed: true }));
  host.out(`Installed and started. Data directory: ${data}`);
  if (plan.note !== null) host.out(plan.note);
  host.out(`To remove it: weir service uninstall --${scopeOf(flags)}`);
}

async function uninstall(host: Host, flags: Flags): Promise<void> {
  const { plan } = await planOf(host, flags);
  if (!existsSync(plan.file)) throw notInstalled(plan);
  await askFor(host, flags, `Stop the service and delete ${plan.file}?`);
  for (const command of plan.stop) await run(host, command, `${plan.file} is still there: `);
  rmSync(plan.file);
  for (const command of plan.after) await run(host, command, `${plan.file} was deleted, but `);
  if (flags.json) return host.out(JSON.stringify({ file: plan.file, installed: false }));
  host.out("Service removed. The data directory is unchanged.");
}

async function status(host: Host, flags: Flags): Promise<void> {
  const { plan } = await planOf(host, flags);
  const isInstalled = existsSync(plan.file);
  const isRunning = isInstalled && (await outcomeOf(host, plan.check)).code === 0;
  if (flags.json) host.out(JSON.stringify({ file: plan.file, installed: isInstalled, running: isRunning }));
  if (!isInstalled) throw notInstalled(plan);
  if (!isRunning)
    throw new AppError("unavailable", `The service is installed (${plan.file}), but not running.`);
  if (!flags.json) host.out(`The service is running (${plan.file}).`);
}

const notInstalled = ({ noun, file }: ServicePlan) =>
  new AppError("not_found", `The service isn't installed: no ${noun} ${file}.`);

const scopeOf = ({ user, system }: Flags): "user" | "system" =>
  system || (!user && process.getuid?.() === 0) ? "system" : "user";

async function planOf(
  host: Host,
  flags: Flags,
): Promise<{ plan: ServicePlan; data: string; uid: number | null }> {
  const { env = {} } = host;
  const scope = scopeOf(flags);
  const data = resolve(
    flags.data ?? (scope === "user" ? dataFolderHere(env) : env.WEIR_DATA || systemDataFolder(env)),
  );
  if (flags.data !== undefined || flags.host !== undefined || flags.port !== undefined)
    await host.parts({ ...flags, data }); // fails for settings that the service couldn't start with
  const uid = scope === "system" ? ownerOf(data, env) : null;
  const listen = (["host", "port"] as const).flatMap((name) => {
    const value = flags[name];
    return value === undefined ? [] : [`--${name}`, value];
  });
  const plan = planFor(process.platform, {
    scope,
    command: [...host.self.map((path) => realpathSync(path)), "serve", "--data", data, ...listen],
    uid,
    home: env.HOME || homedir(),
    env,
  });
  return { plan, data, uid };
}

/** The owner of the data directory, else the user who called sudo: a server shouldn't run as root. */
function ownerOf(data: string, env: NonNullable<Host["env"]>): number | null {
  if (existsSync(data)) return statSync(data).uid;
  return /^\d+$/.test(env.SUDO_UID ?? "") ? Number(env.SUDO_UID) : null;
}

async function askFor(host: Host, { yes }: Flags, question: string): Promise<void> {
  if (yes) return;
  if (host.ask === null) throw new UsageError("Missing flag: --yes. It is required without a terminal.");
  if (!/^y(es)?$/i.test((await host.ask(`${question} [y/N] `, false)).trim()))
    throw new AppError("cancelled", "Cancelled. Nothing was changed.");
}

async function run(host: Host, command: readonly string[], before: string): Promise<void> {
  const { code, err } = await outcomeOf(host, command);
  if (code === 0) return;
  throw new AppError(
    "unavailable",
    `${before}"${command.join(" ")}" failed: ${err.trim() || `exit code ${code}`}`,
  );
}

/** Runs a system command without a shell. Returns its output. */
async function outcomeOf(
  { env = {} }: Host,
  [name = "", ...args]: readonly string[],
): Promise<{ code: number | null; err: string }> {
  const program = Bun.which(name, env.PATH === undefined ? {} : { PATH: env.PATH });
  if (program === null) return { code: null, err: `${name} was not found on this machine.` };
  try {
    const child = Bun.spawn([program, ...args], { env: { ...env }, stdio: ["ignore", "ignore", "pipe"] });
    const [code, err] = await Promise.all([child.exited, new Response(child.stderr).text()]);
    return { code, err };
  } catch (error) {
    return { code: null, err: codeOf(error) || String(error) };
  }
}

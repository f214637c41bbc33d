import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const bun = process.execPath;

function succeed(command: readonly string[], cwd: string): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command], { cwd, stdin: "ignore" });
  if (exitCode !== 0) throw new Error(`${command.join(" ")} failed: ${stdout}${stderr}`);
  return stdout.toString();
}

/** npm packages in a separate temporary folder, at exact versions. `using` deletes it. */
export function fetchPackages(dependencies: Readonly<Record<string, string>>) {
  const folder = mkdtempSync(join(tmpdir(), "weir-packages-"));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, dependencies }));
  succeed([bun, "install", "--ignore-scripts", "--no-progress"], folder);
  return {
    folder,
    /** Runs a script of a package, or one in the folder, without access to the network. */
    async run(script: string, args: readonly string[] = [], env: Readonly<Record<string, string>> = {}) {
      const inside = join(folder, "node_modules", script);
      const path = existsSync(inside) ? inside : join(folder, script);
      const child = Bun.spawn([bun, path, ...args], {
        cwd: folder,
        env: { PATH: process.env.PATH ?? "", HOME: folder, NO_COLOR: "1", NO_PROXY: "127.0.0.1", ...env },
        stdin: "ignore",
        stdout: "pipe",
        stderr: "pipe",
      });
      const [out, err] = await Promise.all([
        new Response(child.stdout).text(),
        new Response(child.stderr).text(),
      ]);
      return { code: await child.exited, out, err };
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Whether programs in Debian packages can be downloaded. */
export const hasDebian = Bun.which("apt-get") !== null && Bun.which("dpkg-deb") !== null;

/** A program from a Debian package, unpacked into a temporary folder and not installed. `using` deletes it. */
export function fetchProgram(name: string, program: string) {
  const folder = mkdtempSync(join(tmpdir(), "weir-program-"));
  const unpacked = join(folder, "unpacked");
  mkdirSync(unpacked);
  succeed(["apt-get", "download", "--quiet", "-o", "APT::Sandbox::User=root", name], folder);
  const [archive = ""] = [...new Bun.Glob("*.deb").scanSync(folder)];
  succeed(["dpkg-deb", "-x", archive, unpacked], folder);
  return {
    folder,
    path: join(unpacked, program),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}
